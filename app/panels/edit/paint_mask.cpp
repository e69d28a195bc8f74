#include "app/panels/edit/paint_mask.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/panels/kit/emit.hpp"

namespace attn::app {
namespace {

/// Calls visit(cell) for every cell on the line between two cells, both included (Bresenham, 1965).
template <class Visit>
void for_line(HeatmapCell at, const HeatmapCell& to, const Visit& visit) {
    const std::int64_t down = std::abs(to.row - at.row), across = std::abs(to.col - at.col);
    const std::int64_t down_by = at.row < to.row ? 1 : -1, across_by = at.col < to.col ? 1 : -1;
    std::int64_t error = across - down;
    while (true) {
        visit(at);
        if (at == to) return;
        const std::int64_t twice = 2 * error;
        if (twice > -down) {
            error -= down;
            at.col += across_by;
        }
        if (twice < across) {
            error += across;
            at.row += down_by;
        }
    }
}

}  // namespace

void toggle_painting(PanelContext& context) {
    ViewState& view = context.view;
    view.paint.on = !view.paint.on;
    if (!view.paint.on) return;
    view.view = View::Step;
    if (is_attention_map(view.stage.stage)) return;
    const StageId map{Stage::Weights, std::max(view.stage.layer, 0), view.stage.stack};
    if (context.has_stage(map)) view.stage = map;
}

void paint(PanelContext& context, const Matrix& matrix, const HeatmapCell& at) {
    ViewState& view = context.view;
    ForwardSettings forward = context.document.forward;
    auto& painted = forward.masks.painted;
    const auto find = [&](const HeatmapCell& cell) {
        return std::find(painted.begin(), painted.end(),
                         PaintedCell{static_cast<std::int32_t>(cell.row), static_cast<std::int32_t>(cell.col)});
    };
    if (!view.paint.stroke) view.paint.stroke = {find(at) == painted.end(), at.row, at.col};
    const bool forbids = view.paint.stroke->forbids;
    bool changed = false;
    for_line({view.paint.stroke->row, view.paint.stroke->col}, at, [&](const HeatmapCell& cell) {
        const auto known = find(cell);
        const bool is_painted = known != painted.end();
        if (forbids == is_painted || (forbids && matrix.masked(cell.row, cell.col))) return;
        if (forbids) painted.push_back({static_cast<std::int32_t>(cell.row), static_cast<std::int32_t>(cell.col)});
        else painted.erase(known);
        changed = true;
    });
    view.paint.stroke = {forbids, at.row, at.col};
    if (changed) emit_forward(context, std::move(forward), "paint");
}

void end_stroke(ViewState& view) {
    if (!view.paint.stroke || ImGui::IsMouseDown(0)) return;
    view.paint.stroke.reset();
    ++view.gesture;
}

}  // namespace attn::app
