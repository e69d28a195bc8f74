#include "app/panels/views/stage_walk.hpp"

#include <algorithm>

#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/stations.hpp"
#include "app/panels/views/token_path_view.hpp"
#include "app/panels/views/token_piece.hpp"
#include "app/session/values/token_path.hpp"

namespace attn::app {
namespace {

/// To a step from the text to its pieces: a row of the path, or their number for the steps of a word.
void choose(PanelContext& context, std::size_t stage) {
    ViewState& view = context.view;
    view.stage = {.stage = Stage::Tokens, .stack = view.stage.stack};
    view.view = View::Step;
    view.playing = false;
    view.token_path.table = false;
    view.token_path.stage = stage;
}

/// Goes from step to step of the text's way to its pieces; false if there is none in this direction.
bool step_text(PanelContext& context, int direction) {
    if (context.view.view != View::Step || context.view.stage.stage != Stage::Tokens || !has_token_path(context)) return false;
    const TokenPath* path = shown_token_path(context);
    if (path == nullptr || path->words.empty()) return false;
    const std::size_t pieces = path->rows.size() + 1, now = std::min(context.view.token_path.stage.value_or(pieces), pieces);
    if (direction < 0 ? now == 0 : now == pieces) return false;
    const std::size_t next = direction < 0 ? now - 1 : now + 1;
    choose(context, next);
    if (next == pieces) context.view.token_path.stage.reset();
    return true;
}

}  // namespace

void walk_stages(PanelContext& context, int direction) {
    if (!step_text(context, direction)) step_stage(context.view, context.structure(), direction);
}

void go_round_text(PanelContext& context) {
    if (context.view.view != View::Step || context.view.stage.stage != Stage::Tokens || !has_token_path(context)) return;
    const TokenPath* path = shown_token_path(context);
    if (path == nullptr || path->words.empty()) return;
    const std::optional<std::size_t> now = context.view.token_path.stage;
    const std::size_t pieces = path->rows.size() + 1, next = now ? *now + 1 : 0;
    choose(context, std::min(next, pieces));
    if (next >= pieces) context.view.token_path.stage.reset();
}

void walk_stations(PanelContext& context, int direction) {
    const PlanNode* next = next_station(*context.structure().plan, context.view.stage, direction);
    if (next == nullptr) return;
    context.view.stage = next->id;
    context.view.token_path.stage.reset();
}

}  // namespace attn::app
