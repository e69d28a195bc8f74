#version 330 core
// Numbers to colours. app/widgets/value_scale.hpp and cell_code.hpp say the same in C++.

uniform usampler2D u_cells;  // cell codes: 0 masked, else 1 + the float's bits turned left by one
uniform sampler2D u_colors;  // the colour map, one row
uniform vec2 u_target;       // size of the framebuffer
uniform vec2 u_origin;       // pixel at which the heatmap begins
uniform vec2 u_first;        // texel at that pixel
uniform vec2 u_step;         // texels per pixel
uniform ivec2 u_samples;     // texels that a pixel looks at, 1 or 2 along each axis
uniform ivec2 u_size;        // texels
uniform int u_scale_kind;    // ScaleKind
uniform vec4 u_scale;        // origin, bend, factor
uniform float u_grid;        // width of the lines between cells, 0 without
uniform float u_pixel;       // size of a logical pixel
uniform vec4 u_pane;
uniform vec4 u_line;

out vec4 color;

uint texel(vec2 at) {
    return texelFetch(u_cells, clamp(ivec2(floor(at)), ivec2(0), u_size - 1), 0).r;
}

// The code of largest magnitude around a place.
uint code_at(vec2 at) {
    vec2 apart = 0.25 * u_step * vec2(u_samples - 1);
    if (u_samples == ivec2(1)) return texel(at);
    uint code = max(texel(at - apart), texel(at + apart));
    if (u_samples == ivec2(2)) code = max(code, max(texel(at + vec2(apart.x, -apart.y)), texel(at + vec2(-apart.x, apart.y))));
    return code;
}

float place_of(float v) {
    float t;
    if (u_scale_kind == 0) t = (v - u_scale.x) * u_scale.z;
    else if (u_scale_kind == 1) t = v > u_scale.x ? log(v / u_scale.x) * u_scale.z : 0.0;
    else if (u_scale_kind == 2) t = log(1.0 + max(v - u_scale.x, 0.0) * u_scale.y) * u_scale.z;
    else if (u_scale_kind == 3) t = 0.5 + v * u_scale.z;
    else t = 0.5 + sign(v) * log(1.0 + abs(v) * u_scale.y) * u_scale.z;
    return clamp(t, 0.0, 1.0);
}

// Lines rising to the right over the pane.
vec4 hatching(vec2 pixel) {
    float period = 6.0 * u_pixel;
    float away = abs(mod(pixel.x + pixel.y, period) - 0.5 * period) * 0.70710678;
    return mix(u_pane, u_line, clamp(0.5 * u_pixel + 0.5 - away, 0.0, 1.0));
}

// Not a number: plain magenta. Infinities: white upright or black level stripes over it.
vec4 loud(uint code, vec2 pixel) {
    const vec4 magenta = vec4(1.0, 0.0, 1.0, 1.0);
    if (code > 0xFF000002u) return magenta;
    bool negative = ((code - 1u) & 1u) == 1u;
    float along = (negative ? pixel.y : pixel.x) / (2.0 * u_pixel);
    if (mod(floor(along), 2.0) == 0.0) return magenta;
    return negative ? vec4(0.0, 0.0, 0.0, 1.0) : vec4(1.0);
}

void main() {
    vec2 pixel = vec2(gl_FragCoord.x, u_target.y - gl_FragCoord.y) - u_origin;
    vec2 at = u_first + pixel * u_step;
    uint code = code_at(at);
    if (u_grid > 0.0 && any(lessThan(fract(at), u_grid * u_step))) {
        color = u_line;
    } else if (code == 0u) {
        color = hatching(pixel);
    } else if (code > 0xFF000000u) {
        color = loud(code, pixel);
    } else {
        uint bits = code - 1u;
        float v = uintBitsToFloat((bits >> 1) | (bits << 31));
        int last = textureSize(u_colors, 0).x - 1;
        color = texelFetch(u_colors, ivec2(int(place_of(v) * float(last) + 0.5), 0), 0);
    }
}
