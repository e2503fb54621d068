/* A kernel that computes with elements of every type: what it gives shows the order of bytes and the place of bits. */

#include "harness.h"

#include <string.h>

const char *const sonnx_implementation = "the probe";

#define EACH(type, change) \
    for (size_t i = 0; i < number; i++) { \
        const type x = ((const type *)from)[i]; \
        ((type *)to)[i] = (type)(change); \
    }

static const char *changed(const struct sonnx_tensor *input, struct sonnx_tensor *output, float scale, int64_t step) {
    const void *from = input->data;
    void *to = output->data;
    size_t number = input->elements;
    switch (input->type) {
    case SONNX_COMPLEX64: number *= 2; EACH(float, x * scale); break;
    case SONNX_FLOAT: EACH(float, x * scale); break;
    case SONNX_COMPLEX128: number *= 2; EACH(double, x * scale); break;
    case SONNX_DOUBLE: EACH(double, x * scale); break;
    case SONNX_INT16: EACH(int16_t, x + step); break;
    case SONNX_INT32: EACH(int32_t, x + step); break;
    case SONNX_INT64: EACH(int64_t, x + step); break;
    case SONNX_UINT32: EACH(uint32_t, x + step); break;
    case SONNX_UINT64: EACH(uint64_t, x + step); break;
    case SONNX_UINT16:
    case SONNX_FLOAT16:
    case SONNX_BFLOAT16: EACH(uint16_t, x + step); break;
    case SONNX_STRING: memcpy(to, from, number * sizeof(struct sonnx_text)); break;
    case SONNX_BOOL: EACH(uint8_t, !x); break;
    case SONNX_FLOAT4E2M1: return "float4e2m1 is refused";
    default:
        for (size_t i = 0; i < number; i++) sonnx_set_bits(output, i, sonnx_bits(input, i) + (unsigned)step);
    }
    return NULL;
}

const char *sonnx_kernel(const struct sonnx_node *node) {
    const struct sonnx_tensor *scale = sonnx_attribute(node, "scale"), *steps = sonnx_attribute(node, "steps"),
                              *names = sonnx_attribute(node, "names"), *table = sonnx_attribute(node, "table");
    if (strcmp(node->op, "Probe") != 0 || node->version != 7) return "another node";
    if (node->inputs != 3 || node->input[1] != NULL || node->input[2]->type != SONNX_INT32) return "other inputs";
    if (scale == NULL || steps == NULL || names == NULL || table == NULL) return "other attributes";
    if (names->rank != 1 || strcmp(((const struct sonnx_text *)names->data)[1].bytes, "second") != 0) return "other names";
    if (table->type != SONNX_DOUBLE || ((const double *)table->data)[1] != 0.1) return "another table";
    if (((const int32_t *)node->input[2]->data)[0] != 70000) return "another constant";
    if (node->output[0]->rank < 0 && sonnx_shape(node->output[0], node->input[0]->rank, node->input[0]->extents)) {
        return "too large";
    }
    if (sonnx_attribute(node, "crash") != NULL) __builtin_trap();
    return changed(node->input[0], node->output[0], *(const float *)scale->data, ((const int64_t *)steps->data)[0]);
}
