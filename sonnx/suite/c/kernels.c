/* An example of the kernels of an implementation: Relu for float. */

#include "harness.h"

#include <string.h>

const char *const sonnx_implementation = "the example of kernels in C";

static const char *relu(const struct sonnx_node *node) {
    const struct sonnx_tensor *input = node->input[0];
    if (input->type != SONNX_FLOAT) return "only float is implemented";
    const float *x = input->data;
    float *y = node->output[0]->data;
    for (size_t i = 0; i < input->elements; i++) y[i] = x[i] < 0 ? 0 : x[i]; /* a NaN stays, and so does -0 */
    return NULL;
}

const char *sonnx_kernel(const struct sonnx_node *node) {
    if (strcmp(node->op, "Relu") == 0) return relu(node);
    return "the operator is not implemented";
}
