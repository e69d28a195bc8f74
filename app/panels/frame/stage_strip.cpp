#include "app/panels/frame/stage_strip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/compare/colors.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/kit/model_blocks.hpp"
#include "app/panels/kit/stage_card.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/equation.hpp"
#include "app/panels/views/text_cards.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/shape_text.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"

namespace attn::app {
namespace {

constexpr float kItemWidth = 104, kWidestItem = 190;

/// Width in pixels of one of a block's stages, with so many cards before them: enough for the longest shape (as with 200 tokens), more if
/// there is room.
float item_width(const PanelContext& context, const ModelBlock& block, std::size_t text_cards, float room) {
    float shape = 0;
    const auto& nodes = context.structure().plan->nodes();
    for (std::size_t i = block.first; i < block.end; ++i)
        shape = std::max(shape,
                         runs_width(context.theme.fonts.mono_tiny, shape_runs(context.theme, context.structure().shape_of(nodes[i].id))));
    const float least = std::max(context.px(kItemWidth), std::ceil(shape) + context.px(18));
    return std::clamp(std::floor(room / static_cast<float>(block.end - block.first + text_cards)), least,
                      std::max(least, context.px(kWidestItem)));
}

/// The first tokens of the sequence as small chips, since tokens have no numeric picture.
void draw_token_thumbnail(const PanelContext& context, ImDrawList& list, ImVec2 min, ImVec2 max, Stack stack) {
    const TokenBatch& batch = context.structure().tokens_of(stack);
    const auto& texts = context.snapshot.texts_of(stack);
    if (texts.empty()) return;
    const auto& row = texts[static_cast<std::size_t>(std::min(context.view.batch, batch.size() - 1))];
    const float height = (max.y - min.y) / 3;
    for (std::size_t i = 0; i < row.size() && i < 3; ++i) {
        const float y = min.y + height * static_cast<float>(i);
        const ImVec2 low{min.x, y + context.px(1)}, high{min.x + context.px(64), y + height - context.px(1)};
        list.AddRectFilled(low, high, context.theme.colors.raised, context.px(3));
        const std::string text = elide(context.theme.fonts.mono_tiny, chip_text(row[i]), high.x - low.x - context.px(8));
        draw_text_in(list, context.theme.fonts.mono_tiny, {low.x + context.px(4), low.y}, high, {0, 0.5F}, context.theme.colors.text, text);
    }
}

/// For a large model, only stages computed for the current view get a thumbnail; nothing is computed for it.
void draw_thumbnail(PanelContext& context, ImDrawList& list, ImVec2 min, ImVec2 max, const StageId& id) {
    if (id.stage == Stage::Tokens) {
        draw_token_thumbnail(context, list, min, max, id.stack);
        return;
    }
    const Matrix matrix = context.beside(id, context.view.head);
    if (matrix.empty()) return;
    // Keeps the map's aspect ratio within limits, up to nearly three times as wide as high.
    const float height = max.y - min.y;
    const float aspect = static_cast<float>(matrix.data.cols) / static_cast<float>(std::max<std::int64_t>(matrix.data.rows, 1));
    const float width = std::clamp(height * aspect, height * 0.4F, std::min(height * 2.8F, max.x - min.x));
    context.canvas.heatmap(list, min, {min.x + width, max.y}, {matrix.data, style_of(context, matrix, id)});
    draw_edited_corner(context, matrix, min, {min.x + width, max.y});
    list.AddRect(min, {min.x + width, max.y}, context.theme.colors.line);
}

/// A stage of the strip; true if clicked.
bool draw_item(PanelContext& context, ImVec2 at, ImVec2 size, std::size_t index, bool cards_shown) {
    const StageId& id = context.structure().plan->nodes()[index].id;
    // A step of the text is chosen by its own card.
    const bool current = id == context.view.stage && !(id.stage == Stage::Tokens && context.view.token_path.stage && cards_shown);
    const std::string title = stage_title(id, token_noun(context.snapshot));
    const std::string tooltip =
        fmt::format("{} ({}): {}\n{}", title, stage_symbol(id.stage), tensor_name(id), shape_words(context.structure().shape_of(id)));
    const StageCard card = draw_stage_card(context, "##stage", index, at, size, current, title, tooltip);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Fonts& fonts = context.theme.fonts;
    const float line = context.px(15);
    if (card.has_picture()) draw_thumbnail(context, list, card.picture_min, card.picture_max, id);
    draw_text(list, fonts.mono_small, {card.x, card.bottom - 2 * line - context.px(3)}, card.ink,
              elide(fonts.mono_small, stage_name(id), card.width));
    draw_shape(list, context.theme, fonts.mono_tiny, {card.x, card.bottom - line - context.px(2)}, context.structure().shape_of(id));
    return card.pressed;
}

}  // namespace

void draw_thumbnails(PanelContext& context) {
    const Plan& plan = *context.structure().plan;
    const std::vector<ModelBlock> blocks = model_blocks(plan);
    const ModelBlock& block = blocks[block_of(blocks, plan, context.view.stage)];
    const ImVec2 origin = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float left = ImGui::GetWindowPos().x, right = left + ImGui::GetWindowWidth();
    const TokenPath* const text = carded_token_path(context, block);
    const std::size_t cards = text == nullptr ? 0 : count_text_cards(*text);
    const float width = item_width(context, block, cards, room.x), height = room.y;
    if (text != nullptr) draw_text_cards(context, *text, origin, {width, height});
    float x = origin.x + width * static_cast<float>(cards);
    for (std::size_t i = block.first; i < block.end; ++i, x += width) {
        const StageId& id = plan.nodes()[i].id;
        const bool visible = x + width > left && x < right;
        if (visible && draw_item(context, {x, origin.y}, {width, height}, i, text != nullptr)) {
            context.view.stage = id;
            context.view.token_path.stage.reset();
            context.view.playing = false;
            if (context.view.view != View::Step && is_attention_map(id.stage)) context.view.heads.stage = id.stage;
            else context.view.view = View::Step;
        }
        if (id == context.view.stage && context.view.strip.stage != id) {
            context.view.strip.stage = id;
            ImGui::SetScrollX(std::max(x + width / 2 - origin.x - ImGui::GetWindowWidth() / 2, 0.F));
        }
    }
    ImGui::SetCursorScreenPos({x, origin.y});
    ImGui::Dummy({1, 1});
    // The wheel scrolls horizontally.
    if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0)
        ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * width);
}

}  // namespace attn::app
