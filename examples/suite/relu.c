/* An implementation of Relu for float, as a program for sonnx suite run:

       cc -O2 -o relu relu.c
       sonnx suite run suite --operator Relu --command './relu {model} {inputs} {outputs}'

   A tensor is a message of protocol buffers: field 2 is the element type (1 for float), field 9 the elements, 8 the
   name.  A model with a Slice in front of Relu is refused.  The output has the shape of the input, so that its file is that of the input with other elements. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char data[1 << 20];

static size_t whole(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) { perror(path); exit(2); }
    size_t size = fread(data, 1, sizeof data, file);
    fclose(file);
    if (size == sizeof data) { fputs("the file is too large\n", stderr); exit(2); }
    return size;
}

static size_t number(size_t *at, size_t size) {
    size_t value = 0;
    for (int shift = 0; *at < size && shift < 63; shift += 7) {
        unsigned char part = data[(*at)++];
        value |= (size_t)(part & 127) << shift;
        if (part < 128) return value;
    }
    fputs("the message ends early\n", stderr);
    exit(2);
}

int main(int count, char **argument) {
    char path[4096];
    size_t type = 0, at = 0, start = 0, length = 0;
    if (count != 4) { fputs("usage: relu MODEL INPUTS OUTPUTS\n", stderr); return 2; }
    size_t size = whole(argument[1]);
    for (size_t place = 0; place + 7 <= size; place++) { /* field 4 of a node: its operator, a text of 5 letters */
        if (memcmp(data + place, "\"\5Slice", 7) == 0) { fputs("Slice is not implemented\n", stderr); return 1; }
    }
    snprintf(path, sizeof path, "%s/input_0.pb", argument[2]);
    size = whole(path);
    while (at < size) {
        size_t key = number(&at, size), value = number(&at, size);
        if (key == (2 << 3)) type = value;
        if ((key & 7) != 2) continue;
        if (value > size - at) { fputs("the message ends early\n", stderr); return 2; }
        if (key == (9 << 3 | 2)) { start = at; length = value; }
        at += value;
    }
    if (type != 1) { fprintf(stderr, "element type %zu is not implemented\n", type); return 1; }
    for (size_t place = 0; place + 4 <= length; place += 4) {
        float x;
        memcpy(&x, data + start + place, 4);
        if (x < 0) x = 0; /* a NaN stays, and so does -0 */
        memcpy(data + start + place, &x, 4);
    }
    snprintf(path, sizeof path, "%s/output_0.pb", argument[3]);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file)) { perror(path); return 2; }
    return 0;
}
