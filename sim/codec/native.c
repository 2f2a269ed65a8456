/* The codec of zeros and frequent values in C, for the whole family of formats whose words are bytes.

   Python gives addresses and sizes, which it has checked, and keeps the buffers alive; the functions here let other threads
   run. A stream that they cannot decompress is none of their business any more: Python asks the golden model what is wrong. */
#define Py_LIMITED_API 0x030A0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "native_avx512.h"
#include "native_checksum.h"
#include "native_format.h"
#include "native_groups.h"
#include "native_nibbles.h"
#include "native_scalar.h"
#include "native_table.h"

/* Words from which on a table of 65536 codes takes less time than it saves. Tests have it sooner. */
#ifndef WORTH_A_TABLE
#define WORTH_A_TABLE 16384
#endif

/* Changes with the arguments of the functions here: Python leaves a module that was built for others alone. */
#define INTERFACE 3

typedef struct {
    const char *name;
    uint8_t *(*compress)(const format *, const uint8_t *, size_t windows, uint8_t *);
    size_t (*decompress)(const format *, const uint8_t **, const uint8_t *end, size_t windows, uint8_t *);
    int large_tables; /* whether compress is faster with the large table */
    uint64_t (*gather)(const format *, const uint8_t *, const uint8_t *base, size_t bytes, uint8_t **);
    void (*scatter)(const format *, uint64_t mask, const uint8_t *, const uint8_t *base, size_t bytes, uint8_t *);
} level;

static level levels[3] = {{"scalar", scalar_compress, scalar_decompress, 1, scalar_gather, scalar_scatter}};
static int level_count = 1;
static uint32_t (*checksum)(uint32_t, const uint8_t *, size_t) = crc32c_plain;

static void find_levels(void)
{
    make_moves();
    make_crc_tables();
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2"))
        checksum = crc32c_fast;
#endif
#ifdef HAVE_TABLE
#if defined(__x86_64__)
    int has_table = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
#else
    int has_table = 1;
#endif
    make_tables();
    if (has_table)
        levels[level_count++] = (level){TABLE_NAME, table_compress, table_decompress, 1, table_gather, table_scatter};
#endif
#ifdef HAVE_AVX512
    if (has_table && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2"))
        levels[level_count++] = (level){"avx512", avx512_compress, avx512_decompress, 0, avx512_gather, avx512_scatter};
#endif
}

/* Reads the parameters: 32-bit numbers in the order of the structure. */
static int parse(format *f, const char *data, Py_ssize_t size)
{
    if (size != (Py_ssize_t)offsetof(format, header_bytes)) {
        PyErr_SetString(PyExc_ValueError, "the parameters of a format have another size");
        return 0;
    }
    memset(f, 0, sizeof *f);
    memcpy(f, data, (size_t)size);
    int field = f->field_bytes ? f->field_bytes < f->word_bytes : !f->zero && !f->rotate;
    if ((f->word_bytes != 1 && f->word_bytes != 2 && f->word_bytes != 4) || f->window < 4 || f->window > 64 ||
        f->window & (f->window - 1) || f->code_bits < 1 || f->code_bits > 4 || f->window * f->code_bits % 8 || !field ||
        f->zero > 1 || f->entries + f->zero > (1u << f->code_bits) - 1 || f->entries + f->zero < 1 ||
        f->rotate >= 8 * f->word_bytes || f->align < 1 || f->align > 8 || f->align & (f->align - 1) || f->levels < 1 ||
        f->levels > 2 || f->group < 8 || f->group > 64 || f->group & (f->group - 1)) {
        PyErr_SetString(PyExc_ValueError, "these are no parameters of a format");
        return 0;
    }
    derive(f);
    return 1;
}

/* The kernels for whole windows of a format. Small windows, which only proofs have, are for plain C. */
static const level *level_for(const format *f, int index)
{
    if (index >= 0 && index < level_count)
        return &levels[f->window < 32 ? 0 : index];
    PyErr_SetString(PyExc_ValueError, "there is no such level");
    return NULL;
}

static PyObject *native_levels(PyObject *self, PyObject *none)
{
    (void)self, (void)none;
    PyObject *names = PyTuple_New(level_count);
    for (int index = 0; names && index < level_count; index++)
        PyTuple_SetItem(names, index, PyUnicode_FromString(levels[index].name));
    return names;
}

/* From 4 MB on memory is asked for in huge pages, as numpy does: small ones take longer to come than the codec works. */
#define LARGE ((Py_ssize_t)1 << 22)
#define HUGE_PAGE ((Py_ssize_t)1 << 21)
#define SMALL_PAGE ((Py_ssize_t)1 << 12)

/* At least `size`. With the headers of the object and of malloc it is whole huge pages: Linux lets mappings of those begin with
   one. */
static Py_ssize_t with_room(Py_ssize_t size)
{
    return size < LARGE ? size : (size + SMALL_PAGE + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE - SMALL_PAGE;
}

/* The header of an object has made its first page a small one, so that the pages after it would be small, too. Where the system
   does not do what is asked for, results take longer. */
static void ask_for_huge_pages(const char *begin, Py_ssize_t size)
{
#if defined(MADV_HUGEPAGE)
    uintptr_t first = (uintptr_t)begin / SMALL_PAGE * SMALL_PAGE;
    if (size < LARGE)
        return;
    madvise((void *)first, (uintptr_t)begin + (uintptr_t)size - first, MADV_HUGEPAGE);
#if defined(MADV_COLLAPSE)
    madvise((void *)first, HUGE_PAGE, MADV_COLLAPSE);
#endif
#else
    (void)begin, (void)size;
#endif
}

/* A documented function that the headers keep from extensions for all versions, though all versions have it. */
PyAPI_FUNC(int) _PyBytes_Resize(PyObject **, Py_ssize_t);

/* filled(bound, fill) -> bytes, those that fill(address) has written; it returns how many, at most the bound. */
static PyObject *native_filled(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_ssize_t bound;
    PyObject *fill, *made;
    if (!PyArg_ParseTuple(arguments, "nO", &bound, &fill))
        return NULL;
    if (!(made = PyBytes_FromStringAndSize(NULL, with_room(bound))))
        return NULL;
    char *begin = PyBytes_AsString(made);
    ask_for_huge_pages(begin, with_room(bound));
    PyObject *count = PyObject_CallFunction(fill, "K", (unsigned long long)(uintptr_t)begin);
    Py_ssize_t size = count ? PyLong_AsSsize_t(count) : -1;
    Py_XDECREF(count);
    if (!PyErr_Occurred() && (size < 0 || size > bound))
        PyErr_SetString(PyExc_ValueError, "more bytes were written than there is space for");
    if (PyErr_Occurred())
        Py_CLEAR(made);
    else
        _PyBytes_Resize(&made, size);
    return made;
}

/* Compresses words of one level; returns the end of the stream. */
static uint8_t *compress_windows(const level *chosen, const format *f, const uint8_t *source, size_t words, uint8_t *end)
{
    size_t windows = words / f->window, step = (size_t)f->window * f->word_bytes;
    if (f->window >= 8) {
        end = chosen->compress(f, source, windows, end);
        source += windows * step;
        words -= windows * f->window;
    }
    for (; words; source += step) {
        unsigned count = words < f->window ? (unsigned)words : f->window;
        end = padded(f, end, compress_carefully(f, source, count, end));
        words -= count;
    }
    return end;
}

/* Decompresses words of one level; returns the position behind them, or NULL for a fault. */
static const uint8_t *decompress_windows(
    const level *chosen, const format *f, const uint8_t *in, const uint8_t *end, size_t words, uint8_t *target)
{
    size_t windows = words / f->window, step = (size_t)f->window * f->word_bytes;
    size_t done = f->window < 8 ? 0 : chosen->decompress(f, &in, end, windows, target);
    words -= done * f->window;
    target += done * step;
    while (in && words) {
        unsigned count = words < f->window ? (unsigned)words : f->window;
        const uint8_t *begin = in;
        in = decompress_carefully(f, begin, end, count, target);
        in = in ? after_padding(f, begin, in, end) : NULL;
        target += step;
        words -= count;
    }
    return in;
}

/* The same of groups, and of words that are XORed with those of a base, if it is not NULL. */
static uint8_t *compress_groups(
    const level *chosen, const format *f, const uint8_t *source, const uint8_t *base, size_t words, uint8_t *end)
{
    uint8_t scratch[MOST_GROUP];
    size_t most = (size_t)windows_at_once(f) * f->window;
    while (words) {
        size_t count = words < most ? words : most, bytes = count * f->word_bytes;
        uint8_t *to = scratch;
        uint64_t mask = chosen->gather(f, source, base, bytes, &to);
        if (f->levels == 2) {
            memcpy(end, &mask, f->group / 8);
            end = padded(f, end, end + f->group / 8);
        }
        end = compress_windows(chosen, f, scratch, (size_t)(to - scratch) / f->word_bytes, end);
        source += bytes;
        base = base ? base + bytes : NULL;
        words -= count;
    }
    return end;
}

static const uint8_t *decompress_groups(
    const level *chosen, const format *f, const uint8_t *in, const uint8_t *end, const uint8_t *base, size_t words,
    uint8_t *target)
{
    uint8_t scratch[MOST_GROUP];
    size_t most = (size_t)windows_at_once(f) * f->window;
    while (words) {
        size_t count = words < most ? words : most, bytes = count * f->word_bytes;
        unsigned windows = (unsigned)((count + f->window - 1) / f->window);
        uint64_t mask = UINT64_MAX >> (64 - windows);
        if (f->levels == 2) {
            const uint8_t *begin = in;
            if ((size_t)(end - in) < f->group / 8)
                return NULL;
            uint64_t found = load_codes(in, f->group / 8);
            if (found & ~mask || !(in = after_padding(f, begin, in + f->group / 8, end)))
                return NULL;
            mask = found;
        }
        size_t stored = (size_t)__builtin_popcountll(mask) * f->window;
        if (mask >> (windows - 1) & 1)
            stored -= windows * f->window - count;
        if (!(in = decompress_windows(chosen, f, in, end, stored, scratch)))
            return NULL;
        chosen->scatter(f, mask, scratch, base, bytes, target);
        target += bytes;
        base = base ? base + bytes : NULL;
        words -= count;
    }
    return in;
}

/* compress(level, format, source, base, words, target) -> bytes; the target has as many bytes as the format's bound. The base is
   0 where there is none. */
static PyObject *native_compress(PyObject *self, PyObject *arguments)
{
    (void)self;
    int index;
    const char *data;
    Py_ssize_t size, words;
    unsigned long long from, other, to;
    format f;
    if (!PyArg_ParseTuple(arguments, "iy#KKnK", &index, &data, &size, &from, &other, &words, &to))
        return NULL;
    if (!parse(&f, data, size))
        return NULL;
    const level *chosen = level_for(&f, index);
    if (!chosen)
        return NULL;
    const uint8_t *source = (const uint8_t *)(uintptr_t)from, *base = (const uint8_t *)(uintptr_t)other;
    uint8_t *target = (uint8_t *)(uintptr_t)to, *end;
    Py_BEGIN_ALLOW_THREADS;
    if (chosen->large_tables && (size_t)words >= WORTH_A_TABLE)
        make_big(&f);
    if (base || f.levels == 2)
        end = compress_groups(chosen, &f, source, base, (size_t)words, target);
    else
        end = compress_windows(chosen, &f, source, (size_t)words, target);
    free(f.big);
    Py_END_ALLOW_THREADS;
    return PyLong_FromSsize_t(end - target);
}

/* decompress(level, format, source, size, base, target, words) -> the bytes that the words took, or -1 for a fault. The base is
   0 where there is none, and may be the target. */
static PyObject *native_decompress(PyObject *self, PyObject *arguments)
{
    (void)self;
    int index;
    const char *data;
    Py_ssize_t size, source_size, words;
    unsigned long long from, other, to;
    format f;
    if (!PyArg_ParseTuple(arguments, "iy#KnKKn", &index, &data, &size, &from, &source_size, &other, &to, &words))
        return NULL;
    if (!parse(&f, data, size))
        return NULL;
    const level *chosen = level_for(&f, index);
    if (!chosen)
        return NULL;
    const uint8_t *source = (const uint8_t *)(uintptr_t)from, *in, *end = source + source_size;
    const uint8_t *base = (const uint8_t *)(uintptr_t)other;
    uint8_t *target = (uint8_t *)(uintptr_t)to;
    Py_BEGIN_ALLOW_THREADS;
    if (base || f.levels == 2)
        in = decompress_groups(chosen, &f, source, end, base, (size_t)words, target);
    else
        in = decompress_windows(chosen, &f, source, end, (size_t)words, target);
    Py_END_ALLOW_THREADS;
    return PyLong_FromSsize_t(in ? in - source : -1);
}

/* walk(format, source, size, windows, stride, positions) -> whether all whole windows begin in the stream. Fills in where every
   stride-th of them begins, as 64-bit numbers, and where the last one ends. */
static PyObject *native_walk(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *data;
    Py_ssize_t size, source_size, windows, stride;
    unsigned long long from, to;
    format f;
    if (!PyArg_ParseTuple(arguments, "y#KnnnK", &data, &size, &from, &source_size, &windows, &stride, &to))
        return NULL;
    if (!parse(&f, data, size))
        return NULL;
    const uint8_t *source = (const uint8_t *)(uintptr_t)from;
    int64_t *positions = (int64_t *)(uintptr_t)to;
    size_t at = 0, whole = 1;
    Py_BEGIN_ALLOW_THREADS;
    unsigned c = f.code_bits, group = f.window < 8 ? f.window : 8;
    uint64_t low = 0;
    for (unsigned place = 0; place < group; place++)
        low |= 1ull << (c * place);
    uint32_t least = f.parts[0], middle = f.parts[f.literal - 1], most = f.parts[f.literal];
    uint64_t mask = UINT64_MAX;
    for (Py_ssize_t window = 0; window < windows; window++, mask >>= 1) {
        if (window % stride == 0)
            *positions++ = (int64_t)at;
        if (f.levels == 2 && window % f.group == 0) {
            if (at + f.group / 8 > (size_t)source_size) {
                whole = 0;
                break;
            }
            mask = load_codes(source + at, f.group / 8);
            at += with_padding(&f, f.group / 8);
        }
        if (f.levels == 2 && !(mask & 1))
            continue;
        if (at + f.header_bytes > (size_t)source_size) {
            whole = 0;
            break;
        }
        size_t length = f.header_bytes + (size_t)f.window * least;
        for (unsigned first = 0; first < f.window; first += group) {
            uint64_t codes = load_codes(source + at + first * c / 8, group * c / 8), all = codes, any = codes;
            for (unsigned bit = 1; bit < c; bit++)
                all &= codes >> bit, any |= codes >> bit;
            length += (size_t)__builtin_popcountll(all & low) * (most - middle);
            length += (size_t)__builtin_popcountll(any & low) * (middle - least);
        }
        at += with_padding(&f, length);
    }
    *positions = (int64_t)at;
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong((long)whole);
}

/* crc32c(source, size, crc) -> the CRC-32C of bytes that follow others whose CRC is crc. */
static PyObject *native_crc32c(PyObject *self, PyObject *arguments)
{
    (void)self;
    unsigned long long from;
    Py_ssize_t size;
    unsigned int crc;
    if (!PyArg_ParseTuple(arguments, "KnI", &from, &size, &crc))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    crc = ~checksum(~crc, (const uint8_t *)(uintptr_t)from, (size_t)size);
    Py_END_ALLOW_THREADS;
    return PyLong_FromUnsignedLong(crc);
}

/* The parameters of a format of words of 4 bits: of those that the other kernels take, the bytes of a word are 0. */
static int parse_nibbles(format *f, const char *data, Py_ssize_t size)
{
    if (size != (Py_ssize_t)offsetof(format, header_bytes)) {
        PyErr_SetString(PyExc_ValueError, "the parameters of a format have another size");
        return 0;
    }
    memset(f, 0, sizeof *f);
    memcpy(f, data, (size_t)size);
    f->literal = (1u << (f->code_bits & 7)) - 1;
    if (f->word_bytes || f->window < 8 || f->window > 64 || f->window & (f->window - 1) || f->code_bits < 1 ||
        f->code_bits > 4 || f->field_bytes || f->rotate || f->zero || f->align != 1 || f->entries < 1 ||
        f->entries > f->literal) {
        PyErr_SetString(PyExc_ValueError, "these are no parameters of a format of words of 4 bits");
        return 0;
    }
    return 1;
}

/* compress_nibbles(format, source, words, target) -> bytes; the target has the bytes of the bound and eight more. */
static PyObject *native_compress_nibbles(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *data;
    Py_ssize_t size, words;
    unsigned long long from, to;
    format f;
    if (!PyArg_ParseTuple(arguments, "y#KnK", &data, &size, &from, &words, &to) || !parse_nibbles(&f, data, size))
        return NULL;
    size_t made;
    Py_BEGIN_ALLOW_THREADS;
    made = nibbles_compress(&f, (const uint8_t *)(uintptr_t)from, (size_t)words, (uint8_t *)(uintptr_t)to);
    Py_END_ALLOW_THREADS;
    return PyLong_FromSsize_t((Py_ssize_t)made);
}

/* decompress_nibbles(format, source, size, target, words) -> whether the stream is these words. */
static PyObject *native_decompress_nibbles(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *data;
    Py_ssize_t size, source_size, words;
    unsigned long long from, to;
    format f;
    if (!PyArg_ParseTuple(arguments, "y#KnKn", &data, &size, &from, &source_size, &to, &words))
        return NULL;
    if (!parse_nibbles(&f, data, size))
        return NULL;
    const uint8_t *source = (const uint8_t *)(uintptr_t)from;
    int whole;
    Py_BEGIN_ALLOW_THREADS;
    whole = nibbles_decompress(&f, source, (size_t)source_size, (uint8_t *)(uintptr_t)to, (size_t)words);
    Py_END_ALLOW_THREADS;
    return PyBool_FromLong(whole);
}

static PyMethodDef methods[] = {
    {"levels", native_levels, METH_NOARGS, "The names of the kernels that this machine can run, the plain one first."},
    {"compress", native_compress, METH_VARARGS, "Compresses words; returns the bytes of the stream."},
    {"decompress", native_decompress, METH_VARARGS, "Decompresses words; returns the bytes that they took, or -1."},
    {"filled", native_filled, METH_VARARGS, "Makes bytes by a function that writes them to an address."},
    {"compress_nibbles", native_compress_nibbles, METH_VARARGS, "Compresses words of 4 bits; returns the bytes."},
    {"decompress_nibbles", native_decompress_nibbles, METH_VARARGS, "Decompresses words of 4 bits; returns whether it could."},
    {"crc32c", native_crc32c, METH_VARARGS, "The CRC-32C of bytes."},
    {"walk", native_walk, METH_VARARGS, "Finds where windows begin."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "The codec in C.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void)
{
    level_count = 1;
    find_levels();
    PyObject *made = PyModule_Create(&module);
    if (made)
        PyModule_AddIntConstant(made, "interface", INTERFACE);
    return made;
}
