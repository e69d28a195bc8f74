#include <cmath>

#include "app/widgets/controls.hpp"

namespace attn::app {
namespace {

/// Draws in a coordinate system from (-1, -1) to (1, 1) about the centre.
struct Pen {
    ImDrawList& list;
    ImVec2 center;
    float half;
    Color color;
    float line = std::fmax(1.25f, half * 0.22f);

    ImVec2 at(float x, float y) const { return ImVec2(center.x + x * half, center.y + y * half); }
    void triangle(float x0, float y0, float x1, float y1, float x2, float y2) const {
        list.AddTriangleFilled(at(x0, y0), at(x1, y1), at(x2, y2), color);
    }
    void bar(float x0, float y0, float x1, float y1) const { list.AddRectFilled(at(x0, y0), at(x1, y1), color, half * 0.12f); }
    void stroke(float x0, float y0, float x1, float y1) const { list.AddLine(at(x0, y0), at(x1, y1), color, line); }
    void arc(float x, float y, float radius, float from, float to) const {
        list.PathArcTo(at(x, y), radius * half, from, to, 20);
        list.PathStroke(color, 0, line);
    }
};

constexpr float kPi = 3.14159265f;

void draw_media_icon(const Pen& pen, Icon icon) {
    switch (icon) {
    case Icon::Play:
        return pen.triangle(-0.6f, -0.85f, 0.9f, 0, -0.6f, 0.85f);
    case Icon::Pause:
        pen.bar(-0.7f, -0.85f, -0.2f, 0.85f);
        return pen.bar(0.2f, -0.85f, 0.7f, 0.85f);
    case Icon::Previous:
        pen.stroke(0.4f, -0.8f, -0.4f, 0);
        return pen.stroke(-0.4f, 0, 0.4f, 0.8f);
    case Icon::Next:  // not a triangle, which stands for playing
        pen.stroke(-0.4f, -0.8f, 0.4f, 0);
        return pen.stroke(0.4f, 0, -0.4f, 0.8f);
    case Icon::First:
        pen.bar(-0.85f, -0.8f, -0.6f, 0.8f);
        return pen.triangle(0.8f, -0.8f, -0.45f, 0, 0.8f, 0.8f);
    case Icon::Last:
        pen.bar(0.6f, -0.8f, 0.85f, 0.8f);
        return pen.triangle(-0.8f, -0.8f, 0.45f, 0, -0.8f, 0.8f);
    case Icon::Up:
        return pen.triangle(-0.8f, 0.5f, 0, -0.5f, 0.8f, 0.5f);
    case Icon::Down:
        return pen.triangle(-0.8f, -0.5f, 0.8f, -0.5f, 0, 0.5f);
    default:
        return;
    }
}

void draw_turn_icon(const Pen& pen, Icon icon) {
    switch (icon) {
    case Icon::Reset:
        pen.arc(0, 0.05f, 0.75f, -0.25f * kPi, 1.4f * kPi);
        return pen.triangle(-0.75f, -0.65f, 0.05f, -1.05f, 0.05f, -0.25f);
    case Icon::Undo:
    case Icon::Redo: {
        // A horizontal arrow that turns down and back; redo is its mirror image.
        const float side = icon == Icon::Undo ? 1.0f : -1.0f;
        pen.stroke(-0.5f * side, -0.35f, 0.25f * side, -0.35f);
        pen.list.PathArcTo(pen.at(0.25f * side, 0.2f), 0.55f * pen.half, -0.5f * kPi, side > 0 ? 0.5f * kPi : -1.5f * kPi, 16);
        pen.list.PathLineTo(pen.at(-0.25f * side, 0.75f));
        pen.list.PathStroke(pen.color, 0, pen.line);
        return pen.triangle(-0.95f * side, -0.35f, -0.35f * side, -0.8f, -0.35f * side, 0.1f);
    }
    default:
        return;
    }
}

void draw_sign_icon(const Pen& pen, Icon icon) {
    switch (icon) {
    case Icon::Close:
        pen.stroke(-0.65f, -0.65f, 0.65f, 0.65f);
        return pen.stroke(-0.65f, 0.65f, 0.65f, -0.65f);
    case Icon::Check:
        pen.stroke(-0.75f, 0.05f, -0.2f, 0.6f);
        return pen.stroke(-0.2f, 0.6f, 0.8f, -0.55f);
    case Icon::Plus:
        pen.stroke(-0.75f, 0, 0.75f, 0);
        return pen.stroke(0, -0.75f, 0, 0.75f);
    case Icon::Lock:
        pen.bar(-0.65f, -0.1f, 0.65f, 0.85f);
        return pen.arc(0, -0.15f, 0.42f, kPi, 2 * kPi);
    case Icon::Eye:
        pen.list.PathArcTo(pen.at(0, 0.75f), 1.2f * pen.half, 1.22f * kPi, 1.78f * kPi, 16);
        pen.list.PathArcTo(pen.at(0, -0.75f), 1.2f * pen.half, 0.22f * kPi, 0.78f * kPi, 16);
        pen.list.PathStroke(pen.color, ImDrawFlags_Closed, pen.line);
        return pen.list.AddCircleFilled(pen.at(0, 0), 0.28f * pen.half, pen.color);
    case Icon::Help:
        pen.arc(0, -0.4f, 0.42f, -kPi, 0.4f * kPi);
        pen.stroke(0.1f, 0, 0, 0.4f);
        return pen.list.AddCircleFilled(pen.at(0, 0.8f), 0.16f * pen.half, pen.color);
    case Icon::Sun:
        pen.list.AddCircleFilled(pen.at(0, 0), 0.42f * pen.half, pen.color);
        for (int ray = 0; ray < 8; ++ray) {
            const float x = std::cos(ray * kPi / 4), y = std::sin(ray * kPi / 4);
            pen.stroke(0.66f * x, 0.66f * y, 0.95f * x, 0.95f * y);
        }
        return;
    case Icon::Moon:
        // A disc minus a second one: the outer arc runs from one intersection to the other, the inner arc back.
        pen.list.PathArcTo(pen.at(0, 0), 0.85f * pen.half, 0.133f, 4.579f, 24);
        pen.list.PathArcTo(pen.at(0.42f, -0.42f), 0.68f * pen.half, 3.812f, 0.901f, 20);
        return pen.list.PathStroke(pen.color, ImDrawFlags_Closed, pen.line);
    case Icon::Pencil:
        pen.stroke(-0.7f, 0.3f, 0.4f, -0.8f);
        pen.stroke(0.4f, -0.8f, 0.8f, -0.4f);
        pen.stroke(0.8f, -0.4f, -0.3f, 0.7f);
        pen.stroke(-0.3f, 0.7f, -0.9f, 0.9f);
        return pen.stroke(-0.9f, 0.9f, -0.7f, 0.3f);
    case Icon::More:
        for (const float x : {-0.75f, 0.0f, 0.75f}) pen.list.AddCircleFilled(pen.at(x, 0), 0.2f * pen.half, pen.color);
        return;
    default:
        return;
    }
}

}  // namespace

void draw_icon(ImDrawList& list, Icon icon, ImVec2 center, float size, Color color) {
    if (icon == Icon::None) return;
    const Pen pen{list, center, size / 2, color};
    if (icon <= Icon::Last || icon == Icon::Up || icon == Icon::Down) return draw_media_icon(pen, icon);
    if (icon == Icon::Reset || icon == Icon::Undo || icon == Icon::Redo) return draw_turn_icon(pen, icon);
    draw_sign_icon(pen, icon);
}

}  // namespace attn::app
