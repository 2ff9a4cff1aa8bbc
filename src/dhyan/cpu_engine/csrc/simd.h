// Vectors of float32 in the widest registers of the target, and exp, tanh and sigmoid of them.
#pragma once

#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace dhyan {

#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX2__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif

typedef float Vec __attribute__((vector_size(4 * LANES)));
typedef int32_t IntVec __attribute__((vector_size(4 * LANES)));

// Rows of a matrix are padded with zeros to a multiple of this, so that loops need no tail.
constexpr int ALIGNMENT = 64;
constexpr int padded(int width) { return (width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

inline Vec load(const float* from) {
    Vec v;
    std::memcpy(&v, from, sizeof v);
    return v;
}
inline void store(float* to, Vec v) { std::memcpy(to, &v, sizeof v); }
inline Vec splat(float x) { return x - Vec{}; }
inline IntVec splat(int32_t x) { return x - IntVec{}; }
inline Vec to_float(IntVec v) { return __builtin_convertvector(v, Vec); }
inline Vec min(Vec a, Vec b) { return a < b ? a : b; }
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }

// The first lanes of a vector, and −∞ in the others.
inline Vec first_lanes(Vec v, int count) {
    IntVec lane;
    for (int at = 0; at < LANES; ++at) lane[at] = at;
    return lane < splat(int32_t(count)) ? v : splat(-__builtin_inff());
}

inline Vec magnitude(Vec v) { return (Vec)((IntVec)v & splat(int32_t(0x7fffffff))); }

inline IntVec round_to_int(Vec v) {
#if defined(__AVX512F__)
    return (IntVec)_mm512_cvtps_epi32((__m512)v);
#elif defined(__AVX2__)
    return (IntVec)_mm256_cvtps_epi32((__m256)v);
#elif defined(__x86_64__)
    return (IntVec)_mm_cvtps_epi32((__m128)v);
#else
    const Vec shift = splat(12582912.0f);  // 1.5 · 2²³: what is added to it is rounded
    return (IntVec)(v + shift) - (IntVec)shift;
#endif
}

inline bool any_greater(Vec a, Vec b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ) != 0;
#elif defined(__AVX2__)
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ)) != 0;
#else
    const IntVec greater = a > b;
    return (greater[0] | greater[1] | greater[2] | greater[3]) != 0;
#endif
}

typedef float Quad __attribute__((vector_size(16)));

inline float sum(Vec v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)v);
#endif
    float parts[LANES];
    store(parts, v);
    Quad total{};
    for (int at = 0; at < LANES; at += 4) {
        Quad part;
        std::memcpy(&part, parts + at, sizeof part);
        total += part;
    }
    return (total[0] + total[2]) + (total[1] + total[3]);
}

inline int32_t sum(IntVec v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_epi32((__m512i)v);
#endif
    int32_t total = 0;
    for (int lane = 0; lane < LANES; ++lane) total += v[lane];
    return total;
}

inline float largest(Vec v) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps((__m512)v);
#endif
    float result = v[0];
    for (int at = 1; at < LANES; ++at) result = v[at] > result ? v[at] : result;
    return result;
}

// In each lane the sum of one of so many vectors, all added in the same order.
inline Vec sums(const Vec (&v)[LANES]) {
#if defined(__AVX512F__)
    __m512 quads[4];
#pragma GCC unroll 4
    for (int at = 0; at < 4; ++at) {
        const __m512 a = (__m512)v[4 * at], b = (__m512)v[4 * at + 1];
        const __m512 c = (__m512)v[4 * at + 2], d = (__m512)v[4 * at + 3];
        const __m512d ab = (__m512d)(_mm512_unpacklo_ps(a, b) + _mm512_unpackhi_ps(a, b));
        const __m512d cd = (__m512d)(_mm512_unpacklo_ps(c, d) + _mm512_unpackhi_ps(c, d));
        quads[at] = (__m512)_mm512_unpacklo_pd(ab, cd) + (__m512)_mm512_unpackhi_pd(ab, cd);
    }
    const __m512 first = _mm512_shuffle_f32x4(quads[0], quads[1], 0x88) +
                         _mm512_shuffle_f32x4(quads[0], quads[1], 0xdd);
    const __m512 second = _mm512_shuffle_f32x4(quads[2], quads[3], 0x88) +
                          _mm512_shuffle_f32x4(quads[2], quads[3], 0xdd);
    return (Vec)(_mm512_shuffle_f32x4(first, second, 0x88) +
                 _mm512_shuffle_f32x4(first, second, 0xdd));
#elif defined(__AVX2__)
    __m256 quads[2];
#pragma GCC unroll 2
    for (int at = 0; at < 2; ++at)
        quads[at] = _mm256_hadd_ps(_mm256_hadd_ps((__m256)v[4 * at], (__m256)v[4 * at + 1]),
                                   _mm256_hadd_ps((__m256)v[4 * at + 2], (__m256)v[4 * at + 3]));
    return (Vec)(_mm256_permute2f128_ps(quads[0], quads[1], 0x20) +
                 _mm256_permute2f128_ps(quads[0], quads[1], 0x31));
#else
    Vec result;
    for (int lane = 0; lane < LANES; ++lane) result[lane] = sum(v[lane]);
    return result;
#endif
}

// The largest error is two units in the last place; NaN stays NaN.
inline Vec exp(Vec x) {
    x = x < splat(-87.0f) ? splat(-87.0f) : x;
    x = x > splat(88.3f) ? splat(88.3f) : x;
    const IntVec n = round_to_int(x * splat(1.44269504f));
    const Vec whole = to_float(n);
    const Vec r = (x - whole * splat(0.693359375f)) + whole * splat(2.12194440e-4f);
    Vec p = splat(1.9875691500e-4f);
    p = p * r + splat(1.3981999507e-3f);
    p = p * r + splat(8.3334519073e-3f);
    p = p * r + splat(4.1665795894e-2f);
    p = p * r + splat(1.6666665459e-1f);
    p = p * r + splat(5.0000001201e-1f);
    p = p * (r * r) + (r + splat(1.0f));
    return p * (Vec)((n + splat(int32_t(127))) << 23);
}

inline Vec sigmoid(Vec x) { return splat(1.0f) / (splat(1.0f) + exp(-x)); }
inline Vec tanh(Vec x) { return splat(1.0f) - splat(2.0f) / (exp(x + x) + splat(1.0f)); }

}  // namespace dhyan
