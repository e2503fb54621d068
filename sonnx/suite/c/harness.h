/* The kernels that the harness of a suite calls.

   Compile harness.c, in C99 or later and without a library, with a file that defines `sonnx_implementation` and
   `sonnx_kernel`; kernels.c is an example.  A target without files also defines the functions at the end. */

#ifndef SONNX_HARNESS_H
#define SONNX_HARNESS_H

#include <stddef.h>
#include <stdint.h>

#include "types.h"

#ifndef SONNX_MEMORY
#define SONNX_MEMORY (24ul << 20) /* bytes for one call, its constants, inputs and outputs; the harness allocates no other */
#endif
#define SONNX_RANK 16 /* the largest number of axes */

/* The numbers of element types: SONNX_FLOAT, SONNX_INT64, ...; SONNX_NONE is that of an output that is missing. */
enum sonnx_type {
#define SONNX_ENUMERATOR(name, number, bits, unit) SONNX_##name = number,
    SONNX_NONE = 0, SONNX_TYPES(SONNX_ENUMERATOR) SONNX_STRING = 8
#undef SONNX_ENUMERATOR
};

/* A string; it has `length` bytes and a NUL behind them. */
struct sonnx_text {
    const char *bytes;
    uint32_t length;
};

/* A tensor.  The elements stand in `data` in row-major order and in the byte order of the machine: float as `float`,
   double as `double`, complex numbers as two of them, float16 and bfloat16 as the bits in a uint16_t, float8 as those in
   a uint8_t, bool as 0 or 1 in a uint8_t, strings as struct sonnx_text, integers as intN_t or uintN_t.  Elements of
   fewer than 8 bits are packed without gaps, the first one in the lowest bits of the first byte: see `sonnx_bits`. */
struct sonnx_tensor {
    enum sonnx_type type;
    int rank; /* -1 for an output whose shape the model does not state */
    int64_t extents[SONNX_RANK];
    size_t elements;
    void *data;
};

/* An attribute: a list is a tensor of rank 1, a number or text one of rank 0. */
struct sonnx_attribute {
    const char *name;
    struct sonnx_tensor value;
};

struct sonnx_node {
    const char *op; /* the operator */
    uint32_t version; /* the version of the operator set that the model imports */
    uint32_t attributes, inputs, outputs;
    const struct sonnx_attribute *attribute;
    const struct sonnx_tensor *const *input; /* NULL for an optional one that is absent */
    struct sonnx_tensor *const *output;      /* NULL for an optional one that is not asked for */
};

/* The name and version of the implementation, for the report. */
extern const char *const sonnx_implementation;

/* Compute the outputs of a node.  Their memory is allocated; it does not hold zeros.

   Returns NULL, or in words why the implementation refuses the call. */
const char *sonnx_kernel(const struct sonnx_node *node);

/* The attribute of a name; NULL if the node does not have it. */
const struct sonnx_tensor *sonnx_attribute(const struct sonnx_node *node, const char *name);

/* Give an output the shape that the kernel has computed, and memory for it: for outputs whose rank is -1.

   Returns 0, or 1 where memory does not suffice. */
int sonnx_shape(struct sonnx_tensor *output, int rank, const int64_t *extents);

/* The bits of an element, in the lowest bits of the result, and the function that sets them: for elements of up to 8 bits. */
unsigned sonnx_bits(const struct sonnx_tensor *tensor, size_t place);
void sonnx_set_bits(struct sonnx_tensor *tensor, size_t place, unsigned bits);

/* Run all cases that `sonnx_read` gives, and write the outputs.  Returns 0, or 1 where the cases or the target cannot be
   used, which `sonnx_say` tells.  The first `begun` data sets are left out. */
int sonnx_run(uint32_t begun);

/* On a target without files compile harness.c with -DSONNX_NO_FILES, and define these functions.  `sonnx_read` gives the
   next `size` bytes of the cases, fewer only at their end; `sonnx_write` returns 0 where all bytes were written. */
size_t sonnx_read(void *data, size_t size);
int sonnx_write(const void *data, size_t size);
void sonnx_say(const char *sentence);

#endif
