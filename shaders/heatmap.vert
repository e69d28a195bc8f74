#version 330 core
// One tile of a heatmap as a screen-aligned rectangle; needs no vertex data.

uniform vec4 u_rect;    // left, top, right, bottom in pixels from the top left
uniform vec2 u_target;  // framebuffer size

void main() {
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    vec2 at = mix(u_rect.xy, u_rect.zw, corner) / u_target;
    gl_Position = vec4(2.0 * at.x - 1.0, 1.0 - 2.0 * at.y, 0.0, 1.0);
}
