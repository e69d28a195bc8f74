#version 330 core
// Maps numbers to colours. Mirrored in C++ by app/widgets/value_scale.hpp and app/render/cell_code.hpp.
// MANY: several texels per pixel. LOGARITHMIC: logarithmic scale. GRID: lines between cells. Each is defined only where needed,
// because software renderers execute both sides of every branch.

uniform usampler2D u_cells;  // cell codes: 0 masked, otherwise 1 + the float's bits rotated left by one
uniform sampler2D u_colors;  // the colour map as a single row
uniform vec2 u_target;       // framebuffer size
uniform vec2 u_origin;       // the heatmap's top left pixel
uniform vec2 u_first;        // texel at that pixel
uniform vec2 u_step;         // texels per pixel
uniform ivec2 u_size;        // size in texels
uniform vec4 u_scale;        // origin, bend, factor and base of ValueScale
uniform float u_pixel;       // size of a logical pixel in pixels
uniform vec4 u_pane;
uniform vec4 u_line;
#ifdef MANY
uniform vec2 u_apart;        // distance from a pixel's centre to its samples, in texels
#endif
#ifdef GRID
uniform float u_grid;        // line width in pixels
#endif

out vec4 color;

uint texel(vec2 at) {
    return texelFetch(u_cells, clamp(ivec2(floor(at)), ivec2(0), u_size - 1), 0).r;
}

// The code with the largest magnitude among a pixel's samples.
uint code_at(vec2 at) {
#ifdef MANY
    vec2 other = vec2(u_apart.x, -u_apart.y);
    return max(max(texel(at - u_apart), texel(at + u_apart)), max(texel(at - other), texel(at + other)));
#else
    return texel(at);
#endif
}

float place_of(float v) {
    float s = v - u_scale.x;
#ifdef LOGARITHMIC
    s = sign(s) * log(1.0 + abs(s) * u_scale.y);
#endif
    float t = u_scale.w + s * u_scale.z;
    return t >= 1.0 ? 1.0 : t > 0.0 ? t : 0.0;
}

// Diagonal hatching on the pane's colour.
vec4 hatching(vec2 pixel) {
    float period = 6.0 * u_pixel;
    float away = abs(fract((pixel.x + pixel.y) / period) - 0.5) * period * 0.70710678;
    return mix(u_pane, u_line, clamp(0.5 * u_pixel + 0.5 - away, 0.0, 1.0));
}

// NaN: plain magenta. Infinities: magenta with white vertical (positive) or black horizontal (negative) stripes.
vec4 loud(uint code, vec2 pixel) {
    bool negative = (code & 1u) == 0u;
    bool stripe = fract((negative ? pixel.y : pixel.x) / (4.0 * u_pixel)) >= 0.5;
    if (code > 0xFF000002u || !stripe) return vec4(1.0, 0.0, 1.0, 1.0);
    return vec4(vec3(negative ? 0.0 : 1.0), 1.0);
}

void main() {
    vec2 pixel = vec2(gl_FragCoord.x, u_target.y - gl_FragCoord.y) - u_origin;
    vec2 at = u_first + pixel * u_step;
    uint code = code_at(at);
    uint bits = code - 1u;
    float place = place_of(uintBitsToFloat((bits >> 1) | (bits << 31)));
    float last = float(textureSize(u_colors, 0).x - 1);
    color = texelFetch(u_colors, ivec2(int(place * last + 0.5), 0), 0);
    if (code == 0u) color = hatching(pixel);
    if (code > 0xFF000000u) color = loud(code, pixel);
#ifdef GRID
    if (any(lessThan(fract(at), u_grid * u_step))) color = u_line;
#endif
}
