/* Calls kernels on the cases of a suite, and writes what they give: see harness.h.

       cc -std=c99 -O2 -o kernels harness.c kernels.c
       ./kernels OUTPUTS OPERATOR.cases ...

   writes OPERATOR.outputs in the folder OUTPUTS, which `sonnx suite judge SUITE OUTPUTS` judges.  If a kernel ends the
   process, `./kernels --continue OUTPUTS OPERATOR.cases` continues after the data set that did it.

   Both files are records: the number of bytes, their CRC-32, and the bytes, whose number is a multiple of 8.  Integers are
   little-endian.  A record begins with its kind; the elements of a tensor begin at a multiple of 8. */

#include "harness.h"

#include <limits.h>
#include <string.h>

#if CHAR_BIT != 8
#error "the harness needs bytes of 8 bits"
#endif

enum { HEADER = 1, CASE = 2, SET = 3, BEGUN = 4, OUTPUTS = 5, REFUSED = 6, END = 7 };

/* ------------------------------------------------------------------ memory */

static union {
    unsigned char bytes[SONNX_MEMORY];
    uint64_t integers;
    double numbers;
    void *pointers;
} memory;
static size_t taken;

static void *take(size_t number, size_t size) {
    size_t room = SONNX_MEMORY - taken;
    if (size != 0 && number > (room < 7 ? 0 : room - 7) / size) return NULL;
    void *start = memory.bytes + taken;
    taken += (number * size + 7) / 8 * 8;
    return start;
}

/* ------------------------------------------------------------------ records */

static uint32_t checked(uint32_t crc, const unsigned char *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return crc;
}

static uint32_t number_at(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static struct {
    unsigned char *start, *at, *end;
    int damaged;
} record;

enum { WHOLE, TOO_LARGE, BROKEN };

/* Read the next record into memory. */
static int next_record(void) {
    unsigned char head[8], rest[256];
    if (sonnx_read(head, 8) != 8) return BROKEN;
    size_t size = number_at(head);
    unsigned char *start = take(size, 1);
    uint32_t crc = 0xFFFFFFFFu;
    if (start == NULL) {
        for (size_t left = size; left > 0;) {
            size_t part = left < sizeof rest ? left : sizeof rest;
            if (sonnx_read(rest, part) != part) return BROKEN;
            crc = checked(crc, rest, part);
            left -= part;
        }
        return ~crc == number_at(head + 4) ? TOO_LARGE : BROKEN;
    }
    record.start = record.at = start;
    record.end = start + size;
    record.damaged = 0;
    if (sonnx_read(start, size) != size || ~checked(crc, start, size) != number_at(head + 4)) return BROKEN;
    return WHOLE;
}

static const unsigned char *bytes(size_t size) {
    static const unsigned char none[8];
    if (size > (size_t)(record.end - record.at)) {
        record.damaged = 1;
        return none;
    }
    record.at += size;
    return record.at - size;
}

static uint32_t number(void) { return number_at(bytes(4)); }

static int64_t long_number(void) {
    uint64_t low = number();
    return (int64_t)((uint64_t)number() << 32 | low);
}

/* The number of things of at least 4 bytes each that follow. */
static uint32_t count(void) {
    uint32_t value = number();
    if (value > (size_t)(record.end - record.at) / 4) record.damaged = 1;
    return record.damaged ? 0 : value;
}

static struct sonnx_text text(void) {
    struct sonnx_text value = {"", 0};
    size_t length = number();
    const unsigned char *start = bytes(length < SIZE_MAX - 4 ? (length / 4 + 1) * 4 : SIZE_MAX); /* with a NUL */
    if (record.damaged) return value;
    value.bytes = (const char *)start;
    value.length = (uint32_t)length;
    return value;
}

/* ------------------------------------------------------------------ elements */

static unsigned bits_of(enum sonnx_type type) {
    switch ((int)type) {
#define SONNX_BITS(name, number, bits, unit) case number: return bits;
        SONNX_TYPES(SONNX_BITS)
    default: return 0;
    }
}

/* The bytes of the numbers whose order depends on the machine. */
static unsigned unit_of(enum sonnx_type type) {
    switch ((int)type) {
#define SONNX_UNIT(name, number, bits, unit) case number: return unit;
        SONNX_TYPES(SONNX_UNIT)
    default: return 1;
    }
}

static int is_little_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 1;
}

/* From little-endian to the order of the machine, or back. */
static void reorder(void *data, size_t size, unsigned unit) {
    unsigned char *at = data;
    if (is_little_endian() || unit == 1) return;
    for (; size >= unit; size -= unit, at += unit) {
        for (unsigned i = 0; i < unit / 2; i++) {
            unsigned char kept = at[i];
            at[i] = at[unit - 1 - i];
            at[unit - 1 - i] = kept;
        }
    }
}

/* The bytes of the elements; SIZE_MAX where there are too many. */
static size_t size_of(const struct sonnx_tensor *tensor) {
    unsigned bits = bits_of(tensor->type);
    if (tensor->type == SONNX_STRING) {
        return tensor->elements > SIZE_MAX / sizeof(struct sonnx_text) ? SIZE_MAX
                                                                       : tensor->elements * sizeof(struct sonnx_text);
    }
    if (bits == 0 || tensor->elements > (SIZE_MAX - 7) / bits) return SIZE_MAX;
    return (tensor->elements * bits + 7) / 8;
}

static void count_elements(struct sonnx_tensor *tensor) {
    size_t product = 1;
    int is_empty = 0;
    for (int axis = 0; axis < tensor->rank; axis++) {
        int64_t extent = tensor->extents[axis];
        if (extent <= 0) is_empty = 1;
        else product = (uint64_t)extent > SIZE_MAX / product ? SIZE_MAX : product * (size_t)extent;
    }
    tensor->elements = is_empty ? 0 : product;
}

/* A tensor of the record; its elements, if it has them, stay in the record. */
static struct sonnx_tensor tensor(void) {
    struct sonnx_tensor value = {SONNX_NONE, -1, {0}, 0, NULL};
    value.type = (enum sonnx_type)number();
    uint32_t rank = number(), axis;
    if (rank != 0xFFFFFFFFu) {
        if (rank > SONNX_RANK) record.damaged = 1;
        for (axis = 0; axis < rank && !record.damaged; axis++) value.extents[axis] = long_number();
        value.rank = record.damaged ? 0 : (int)rank;
        count_elements(&value);
    }
    if (number() == 0 || record.damaged) return value;
    if (value.type == SONNX_STRING) {
        struct sonnx_text *texts = take(value.elements, sizeof *texts);
        if (texts == NULL) record.damaged = 1;
        for (size_t i = 0; i < value.elements && !record.damaged; i++) texts[i] = text();
        value.data = texts;
        return value;
    }
    size_t size = size_of(&value);
    bytes((size_t)-(record.at - record.start) % 8);
    unsigned char *start = record.at;
    bytes(size);
    bytes((size_t)-(record.at - record.start) % 4);
    if (!record.damaged) {
        reorder(start, size, unit_of(value.type));
        value.data = start;
    }
    return value;
}

/* ------------------------------------------------------------------ what kernels call */

const struct sonnx_tensor *sonnx_attribute(const struct sonnx_node *node, const char *name) {
    for (uint32_t i = 0; i < node->attributes; i++) {
        if (strcmp(node->attribute[i].name, name) == 0) return &node->attribute[i].value;
    }
    return NULL;
}

int sonnx_shape(struct sonnx_tensor *output, int rank, const int64_t *extents) {
    if (rank < 0 || rank > SONNX_RANK) return 1;
    output->rank = rank;
    for (int axis = 0; axis < rank; axis++) output->extents[axis] = extents[axis]; /* may be the same array */
    count_elements(output);
    size_t size = size_of(output);
    output->data = take(size, 1);
    if (output->data == NULL) return 1;
    /* No number: an element that the kernel leaves out differs from any that is expected, but by chance. */
    memset(output->data, output->type == SONNX_STRING ? 0 : 0xA5, size);
    return 0;
}

unsigned sonnx_bits(const struct sonnx_tensor *tensor, size_t place) {
    unsigned width = bits_of(tensor->type), value = 0;
    const unsigned char *data = tensor->data;
    for (unsigned i = 0; i < width; i++) {
        size_t bit = place * width + i;
        value |= (unsigned)(data[bit / 8] >> bit % 8 & 1) << i;
    }
    return value;
}

void sonnx_set_bits(struct sonnx_tensor *tensor, size_t place, unsigned bits) {
    unsigned width = bits_of(tensor->type);
    unsigned char *data = tensor->data;
    for (unsigned i = 0; i < width; i++) {
        size_t bit = place * width + i;
        data[bit / 8] = (unsigned char)((data[bit / 8] & ~(1u << bit % 8)) | (bits >> i & 1) << bit % 8);
    }
}

/* ------------------------------------------------------------------ writing */

/* A record is written twice: first its size and checksum are computed, then its bytes go out. */
static struct {
    size_t size;
    uint32_t crc;
    int goes_out, failed;
} written;

static void put(const void *data, size_t size) {
    if (written.goes_out) written.failed |= size > 0 && sonnx_write(data, size) != 0;
    else written.crc = checked(written.crc, data, size);
    written.size += size;
}

static void put_zeros(size_t number) {
    static const unsigned char zeros[8];
    put(zeros, number);
}

static void put_number(uint32_t value) {
    unsigned char parts[4] = {(unsigned char)value, (unsigned char)(value >> 8), (unsigned char)(value >> 16),
                              (unsigned char)(value >> 24)};
    put(parts, 4);
}

static void put_text(const char *start, size_t length) {
    put_number((uint32_t)length);
    put(start, length);
    put_zeros(4 - length % 4);
}

/* A tensor; its elements are little-endian. */
static void put_tensor(const struct sonnx_tensor *tensor) {
    int is_there = tensor != NULL && tensor->rank >= 0 && tensor->data != NULL;
    put_number(is_there ? (uint32_t)tensor->type : SONNX_NONE);
    put_number(is_there ? (uint32_t)tensor->rank : 0);
    for (int axis = 0; is_there && axis < tensor->rank; axis++) {
        put_number((uint32_t)(uint64_t)tensor->extents[axis]);
        put_number((uint32_t)((uint64_t)tensor->extents[axis] >> 32));
    }
    put_number((uint32_t)is_there);
    if (!is_there) return;
    if (tensor->type == SONNX_STRING) {
        const struct sonnx_text *texts = tensor->data;
        for (size_t i = 0; i < tensor->elements; i++) put_text(texts[i].bytes ? texts[i].bytes : "", texts[i].length);
        return;
    }
    put_zeros((size_t)-written.size % 8);
    put(tensor->data, size_of(tensor));
    put_zeros((size_t)-written.size % 4);
}

static struct {
    uint32_t kind, number, outputs;
    struct sonnx_text id;
    const char *said;
    const struct sonnx_tensor *values;
    const uint32_t *places;
} answer;

static void put_answer(void) {
    put_number(answer.kind);
    put_text(answer.id.bytes, answer.id.length);
    if (answer.kind != HEADER && answer.kind != END) put_number(answer.number);
    if (answer.kind == HEADER || answer.kind == REFUSED) put_text(answer.said, strlen(answer.said));
    if (answer.kind == OUTPUTS) {
        put_number(answer.outputs);
        for (uint32_t i = 0; i < answer.outputs; i++) put_tensor(&answer.values[answer.places[i]]);
    }
    put_zeros((size_t)-written.size % 8);
}

/* Write a record; returns 0 where all of it was written. */
static int write_record(uint32_t kind) {
    answer.kind = kind;
    written.size = written.failed = written.goes_out = 0;
    written.crc = 0xFFFFFFFFu;
    put_answer();
    uint32_t size = (uint32_t)written.size, crc = ~written.crc;
    written.goes_out = 1;
    put_number(size);
    put_number(crc);
    written.size = 0;
    put_answer();
    return written.failed;
}

/* ------------------------------------------------------------------ cases */

static struct {
    uint32_t values, inputs, outputs, nodes;
    struct sonnx_tensor *value;
    int *rank; /* of each value as the model states it */
    uint32_t *input, *output;
    struct sonnx_node *node;
    int is_too_large;
} model;

static void *array(uint32_t number, size_t size) {
    void *start = take(number, size);
    if (start == NULL) {
        model.is_too_large = 1;
        record.damaged = 1;
    }
    return start;
}

static uint32_t *places(uint32_t *number_of_places) {
    *number_of_places = count();
    uint32_t *listed = array(*number_of_places, sizeof *listed);
    for (uint32_t i = 0; i < *number_of_places && !record.damaged; i++) {
        listed[i] = number();
        if (listed[i] >= model.values) record.damaged = 1;
    }
    return listed;
}

/* The values of a node by their numbers, NULL for a number behind the last value. */
static struct sonnx_tensor **values_of_node(uint32_t *number_of_values) {
    *number_of_values = count();
    struct sonnx_tensor **listed = array(*number_of_values, sizeof *listed);
    for (uint32_t i = 0; i < *number_of_values && !record.damaged; i++) {
        uint32_t place = number();
        listed[i] = place < model.values ? &model.value[place] : NULL;
    }
    return listed;
}

static void read_node(struct sonnx_node *node) {
    node->op = text().bytes;
    node->version = number();
    node->attributes = count();
    struct sonnx_attribute *attribute = array(node->attributes, sizeof *attribute);
    for (uint32_t i = 0; i < node->attributes && !record.damaged; i++) {
        attribute[i].name = text().bytes;
        attribute[i].value = tensor();
    }
    node->attribute = attribute;
    node->input = (const struct sonnx_tensor *const *)values_of_node(&node->inputs);
    node->output = values_of_node(&node->outputs);
}

static void read_case(void) {
    model.is_too_large = 0;
    model.values = count();
    model.value = array(model.values, sizeof *model.value);
    model.rank = array(model.values, sizeof *model.rank);
    for (uint32_t i = 0; i < model.values && !record.damaged; i++) {
        model.value[i] = tensor();
        model.rank[i] = model.value[i].rank;
    }
    model.input = places(&model.inputs);
    model.output = places(&model.outputs);
    model.nodes = count();
    model.node = array(model.nodes, sizeof *model.node);
    for (uint32_t i = 0; i < model.nodes && !record.damaged; i++) read_node(&model.node[i]);
}

/* Run the nodes on the data set of the record; returns why it is refused, or NULL. */
static const char *run_set(void) {
    static const char *const too_large = "SONNX_MEMORY does not suffice for the call";
    for (uint32_t i = 0; i < model.inputs && !record.damaged; i++) model.value[model.input[i]] = tensor();
    if (record.damaged) return NULL;
    for (uint32_t i = 0; i < model.nodes; i++) {
        const struct sonnx_node *node = &model.node[i];
        for (uint32_t place = 0; place < node->outputs; place++) {
            struct sonnx_tensor *output = node->output[place];
            if (output == NULL) continue;
            output->data = NULL;
            output->rank = model.rank[output - model.value];
            if (output->rank >= 0 && sonnx_shape(output, output->rank, output->extents)) return too_large;
        }
        const char *refusal = sonnx_kernel(node);
        if (refusal != NULL) return refusal;
    }
    for (uint32_t i = 0; i < model.outputs; i++) {
        struct sonnx_tensor *output = &model.value[model.output[i]];
        if (output->data == NULL || output->type == SONNX_STRING) continue;
        if (size_of(output) == SIZE_MAX) return "a kernel gave an output a type or shape that no tensor has";
        reorder(output->data, size_of(output), unit_of(output->type));
    }
    return NULL;
}

/* Whether the numbers of the machine are those that the files have. */
static int has_ieee_numbers(void) {
    const float single = -1.5f;
    const double wide = -1.5;
    const uint32_t single_bits = 0xBFC00000u;
    const uint64_t wide_bits = (uint64_t)0xBFF80000u << 32;
    return sizeof single == 4 && sizeof wide == 8 && memcmp(&single, &single_bits, 4) == 0 &&
           memcmp(&wide, &wide_bits, 8) == 0;
}

static int stop(const char *sentence) {
    sonnx_say(sentence);
    return 1;
}

/* Read the header, which has the hash of the archive of the suite and the name of the operator. */
static int read_header(struct sonnx_text *operator_name) {
    if (next_record() != WHOLE || number() != HEADER) return 1;
    answer.id = text();
    *operator_name = text();
    return record.damaged || number() != SONNX_FORMAT;
}

int sonnx_run(uint32_t begun) {
    static const char *const damaged = "the cases are damaged, or of another version of the harness";
    static const char *const not_written = "the outputs cannot be written";
    struct sonnx_text operator_name;
    taken = 0;
    if (!has_ieee_numbers()) return stop("float or double is not a number of IEEE 754 in the byte order of integers");
    if (read_header(&operator_name)) return stop(damaged);
    size_t before_case = taken, behind_case = taken;
    answer.said = sonnx_implementation;
    if (begun == 0 && write_record(HEADER)) return stop(not_written);
    struct sonnx_text archive = answer.id;
    for (;;) {
        int state = next_record();
        uint32_t kind = state == WHOLE ? number() : SET;
        if (state == BROKEN) return stop(damaged);
        if (state == TOO_LARGE) return stop("SONNX_MEMORY is too small for these cases; compile with a larger one");
        if (kind == CASE) {
            /* The record goes to where the last case began. */
            size_t size = (size_t)(record.end - record.start);
            memmove(memory.bytes + before_case, record.start, size);
            record.start = memory.bytes + before_case;
            record.at = record.start + 4;
            record.end = record.start + size;
            taken = before_case + (size + 7) / 8 * 8;
            answer.id = text();
            read_case();
            if (model.is_too_large) return stop("SONNX_MEMORY is too small for these cases; compile with a larger one");
            if (record.damaged) return stop(damaged);
            behind_case = taken;
        } else if (kind == SET) {
            answer.number = number();
            if (begun > 0) {
                begun--;
            } else {
                if (write_record(BEGUN)) return stop(not_written);
                answer.said = run_set();
                if (record.damaged) return stop(damaged);
                answer.values = model.value;
                answer.places = model.output;
                answer.outputs = model.outputs;
                if (write_record(answer.said == NULL ? OUTPUTS : REFUSED)) return stop(not_written);
            }
            taken = behind_case;
        } else if (kind == END) {
            answer.id = archive;
            return write_record(END) ? stop(not_written) : 0;
        } else {
            return stop(damaged);
        }
    }
}

/* ------------------------------------------------------------------ files */

#ifndef SONNX_NO_FILES

#include <stdio.h>

static FILE *cases, *outputs;

size_t sonnx_read(void *data, size_t size) { return fread(data, 1, size, cases); }

int sonnx_write(const void *data, size_t size) { return fwrite(data, 1, size, outputs) != size || fflush(outputs) != 0; }

void sonnx_say(const char *sentence) { fprintf(stderr, "%s\n", sentence); }

/* The data sets that an earlier run has begun; the file is then at the end of its last whole record. */
static uint32_t begun_before(const unsigned char *archive, size_t size) {
    unsigned char head[8], part[256];
    uint32_t begun = 0;
    long behind = 0;
    while (fread(head, 1, 8, outputs) == 8) {
        size_t left = number_at(head), first = left < sizeof part ? left : sizeof part;
        uint32_t crc = 0xFFFFFFFFu;
        if (fread(part, 1, first, outputs) != first) break;
        uint32_t kind = number_at(part);
        if (behind == 0 && (first < 8 + size || memcmp(part + 8, archive, size) != 0)) break;
        crc = checked(crc, part, first);
        for (left -= first; left > 0; left -= first) {
            first = left < sizeof part ? left : sizeof part;
            if (fread(part, 1, first, outputs) != first) break;
            crc = checked(crc, part, first);
        }
        if (left > 0 || ~crc != number_at(head + 4) || kind == END) break;
        begun += kind == BEGUN;
        behind = ftell(outputs);
    }
    return fseek(outputs, behind, SEEK_SET) == 0 ? begun : 0;
}

static int run_file(const char *folder, const char *path, int continues) {
    char name[4096];
    struct sonnx_text operator_name;
    taken = 0;
    cases = fopen(path, "rb");
    if (cases == NULL) { perror(path); return 1; }
    if (read_header(&operator_name)) { fprintf(stderr, "%s is not a file of cases of this harness\n", path); return 1; }
    for (uint32_t i = 0; i < operator_name.length; i++) {
        if (strchr("./\\:", operator_name.bytes[i]) != NULL) { fprintf(stderr, "%s names no operator\n", path); return 1; }
    }
    if (snprintf(name, sizeof name, "%s/%s.outputs", folder, operator_name.bytes) >= (int)sizeof name) {
        fputs("the name of the folder is too long\n", stderr);
        return 1;
    }
    outputs = continues ? fopen(name, "r+b") : NULL;
    uint32_t begun = 0;
    if (outputs != NULL) begun = begun_before((const unsigned char *)answer.id.bytes, answer.id.length);
    if (outputs != NULL && begun == 0) {
        fclose(outputs);
        outputs = NULL;
    }
    if (outputs == NULL) outputs = fopen(name, "wb");
    if (outputs == NULL) { perror(name); return 1; }
    rewind(cases);
    int failed = sonnx_run(begun);
    fclose(cases);
    if (fclose(outputs) != 0) { perror(name); return 1; }
    return failed;
}

int main(int number_of_words, char **words) {
    int continues = number_of_words > 1 && strcmp(words[1], "--continue") == 0, failed = 0;
    if (number_of_words < 3 + continues) {
        fprintf(stderr, "usage: %s [--continue] OUTPUTS OPERATOR.cases ...\n", words[0]);
        return 2;
    }
    for (int i = 2 + continues; i < number_of_words; i++) failed |= run_file(words[1 + continues], words[i], continues);
    return failed ? 2 : 0;
}

#endif
