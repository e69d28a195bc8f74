#include "app/panels/frame/strip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/panels/compare/head_captions.hpp"
#include "app/panels/kit/model_blocks.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kBlock = 96, kSmallBlock = 22, kBlockHeight = 40, kTop = 10, kBlockGap = 14, kSmallGap = 4, kStackGap = 26, kHeadMark = 8,
                kMapInset = 16;
constexpr std::size_t kMostWide = 14;  ///< more blocks are drawn small

std::int64_t heads_of(const PanelContext& context, const ModelBlock& block) {
    for (const BlockPart& part : block.parts)
        if (part.kind != PartKind::FeedForward) return context.structure().shape_of(part.opens).size_of(Axis::H);
    return 0;
}

std::string block_title(const PanelContext& context, const ModelBlock& block) {
    return block_title(context.structure(), block, token_noun(context.snapshot));
}

/// Selects a stage. Views of maps stay open; others switch to the Step view.
void go_to_stage(PanelContext& context, const StageId& id) {
    ViewState& view = context.view;
    view.stage = id;
    view.playing = false;
    const bool maps = view.view == View::Heads || view.view == View::Grid || view.view == View::Lines;
    if (!maps || id.layer < 0) view.view = View::Step;
}

std::string shape_letters(const Shape& shape) {
    std::string text;
    for (const Dim& dim : shape) text += fmt::format("{}{}{}", text.empty() ? "" : " ", axis_letter(dim.axis), dim.size);
    return "[" + text + "]";
}

/// The block's description, stage names and output shape.
std::string block_tooltip(const PanelContext& context, const ModelBlock& block) {
    const Plan& plan = *context.structure().plan;
    const StageId& first = plan.nodes()[block.first].id;
    const StageId& last = plan.nodes()[block.end - 1].id;
    std::string heads;
    if (const std::int64_t count = heads_of(context, block); count > 0) heads = fmt::format("\nHeads: {}.", count);
    return fmt::format("{}: {}{}\n{} … {}\n{}\n{}", block_title(context, block), block_sentence(plan, block, token_noun(context.snapshot)),
                       heads, tensor_name(first), tensor_name(last), shape_letters(context.structure().shape_of(last)),
                       shape_words(context.structure().shape_of(last)));
}

/// The colour of a head by its pattern, which is known for all layers only in a whole trace.
Color head_mark_color(const PanelContext& context, const StageId& weights, std::int64_t head) {
    const Palette& colors = context.theme.colors;
    const Color plain = mix(colors.raised, colors.muted, 0.35F);
    if (!context.snapshot.is_whole()) return plain;
    const HeadCaption caption = head_caption(context, weights, head);
    return caption.text.empty() || caption.color == colors.muted ? plain : caption.color;
}

/// Draws small squares for heads and a bar for the feed-forward network into [min, max].
void draw_layer_marks(const PanelContext& context, ImDrawList& list, const ModelBlock& block, ImVec2 min, ImVec2 max) {
    const float mark = context.px(kHeadMark), gap = context.px(3), between = context.px(6);
    const Color bar = mix(context.theme.colors.raised, context.theme.colors.muted, 0.25F);
    float x = min.x;
    for (const BlockPart& part : block.parts) {
        if (part.kind == PartKind::FeedForward) {
            if (max.x - x > mark) list.AddRectFilled({x, min.y}, {max.x, min.y + mark}, bar, context.px(2));
            return;
        }
        const std::int64_t heads = context.structure().shape_of(part.opens).size_of(Axis::H);
        const float room = (max.x - min.x) * (block.parts.size() > 2 ? 0.38F : 0.6F);
        const float pitch = std::min(mark + gap, room / static_cast<float>(std::max<std::int64_t>(heads, 1)));
        for (std::int64_t head = 0; head < heads && pitch >= context.px(3); ++head, x += pitch)
            list.AddRectFilled({x, min.y}, {x + std::max(pitch - gap, context.px(2)), min.y + mark},
                               head_mark_color(context, part.opens, head), context.px(2));
        x += between;
    }
}

/// All blocks have one width, so that a second click in the same place does not hit something else.
void draw_block(PanelContext& context, const ModelBlock& block, ImVec2 min, ImVec2 max, bool chosen) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Item item = item_at(context.ui(), "##block", min, {max.x - min.x, max.y - min.y}, {.tooltip = block_tooltip(context, block)});
    list.AddRectFilled(min, max, item.hovered ? mix(colors.raised, colors.text, 0.08F) : colors.raised, context.px(6));
    list.AddRect(min, max, chosen ? colors.chosen : colors.line, context.px(6), 0, context.px(chosen ? 2 : 1));
    draw_focus_ring(context.ui(), item, context.px(6));
    const bool wide = max.x - min.x > context.px(kSmallBlock + 1), layer = block.kind == BlockKind::Layer;
    const std::string title = wide ? block_title(context, block) : layer ? std::to_string(block.layer) : "";
    const float names_end = layer && wide ? min.y + context.px(22) : max.y;
    draw_text_in(list, wide ? fonts.label : fonts.mono_tiny, min, {max.x, names_end}, {0.5F, 0.5F}, chosen ? colors.text : colors.muted,
                 elide(fonts.label, title, max.x - min.x - context.px(4)));
    if (layer && wide)
        draw_layer_marks(context, list, block, {min.x + context.px(10), max.y - context.px(8 + kHeadMark)},
                         {max.x - context.px(10), max.y});
    if (item.pressed) go_to_stage(context, stage_in(*context.structure().plan, block, context.view.stage));
}

/// The place of each block on the line.
struct Line {
    std::vector<float> lefts;
    float width = 0, end = 0;
};

Line lay_out(const PanelContext& context, const std::vector<ModelBlock>& blocks) {
    const bool wide = blocks.size() <= kMostWide;
    Line line;
    line.width = context.px(wide ? kBlock : kSmallBlock);
    float x = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i > 0) x += context.px(blocks[i - 1].stack != blocks[i].stack ? kStackGap : wide ? kBlockGap : kSmallGap);
        line.lefts.push_back(x);
        x += line.width;
    }
    line.end = x;
    return line;
}

/// What a layer adds: the stream goes round its block and joins what comes out of it at a ⊕.
void draw_addition(const PanelContext& context, ImVec2 min, ImVec2 max, float middle, Color ink) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float thick = context.px(1.5F), round = context.px(4.5F), head = context.px(2.5F);
    const float leaves = min.x - context.px(3), joins = max.x + context.px(6), over = min.y - context.px(5), tip = middle - round;
    list.AddLine({leaves, middle}, {leaves, over}, ink, thick);
    list.AddLine({leaves, over}, {joins, over}, ink, thick);
    list.AddLine({joins, over}, {joins, tip - head}, ink, thick);
    list.AddTriangleFilled({joins - head, tip - 2 * head}, {joins + head, tip - 2 * head}, {joins, tip}, ink);
    list.AddCircleFilled({joins, middle}, round, context.theme.colors.pane, 20);
    list.AddCircle({joins, middle}, round, ink, 20, thick);
    list.AddLine({joins - round, middle}, {joins + round, middle}, ink, thick);
    list.AddLine({joins, middle - round}, {joins, middle + round}, ink, thick);
}

/// Draws the residual stream between blocks, and below it the connection from the encoder to the decoder's layers.
void draw_stream(const PanelContext& context, const std::vector<ModelBlock>& blocks, const Line& line, ImVec2 origin, float height) {
    const Palette& colors = context.theme.colors;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float middle = origin.y + height / 2, bottom = origin.y + height, low = bottom + context.px(4), thick = context.px(1.5F);
    const Color stream = context.structure().config.residual ? colors.good : colors.muted, link = colors.axis(Axis::S);
    const auto centre = [&](std::size_t i) { return origin.x + line.lefts[i] + line.width / 2; };
    float from = -1, to = -1;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (i + 1 < blocks.size() && blocks[i].stack == blocks[i + 1].stack)
            list.AddLine({origin.x + line.lefts[i] + line.width, middle}, {origin.x + line.lefts[i + 1], middle}, stream, context.px(2));
        if (blocks[i].kind == BlockKind::Layer && context.structure().config.residual && line.width > context.px(kSmallBlock + 1))
            draw_addition(context, {origin.x + line.lefts[i], origin.y}, {origin.x + line.lefts[i] + line.width, bottom}, middle, stream);
        if (blocks[i].stack == Stack::Encoder) from = centre(i);
        const bool reads = std::any_of(blocks[i].parts.begin(), blocks[i].parts.end(),
                                       [](const BlockPart& part) { return part.kind == PartKind::CrossAttention; });
        if (!reads || from < 0) continue;
        to = centre(i);
        list.AddLine({to, bottom}, {to, low}, link, thick);
    }
    if (to < 0) return;
    list.AddLine({from, bottom}, {from, low}, link, thick);
    list.AddLine({from, low}, {to, low}, link, thick);
}

}  // namespace

void draw_model_map(PanelContext& context) {
    if (!context.ready()) return;
    const Plan& plan = *context.structure().plan;
    const std::vector<ModelBlock> blocks = model_blocks(plan);
    const std::size_t chosen = block_of(blocks, plan, context.view.stage);
    const Line line = lay_out(context, blocks);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const Scrolled scrolled(
        context.ui(), "##map", room,
        {.flags = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_HorizontalScrollbar,
         .padded = false,
         .fades = false});
    const ImVec2 start = ImGui::GetCursorScreenPos();
    const ImVec2 origin{start.x + context.px(kMapInset), start.y + context.px(kTop)};
    const float height = context.px(kBlockHeight), left = ImGui::GetWindowPos().x, right = left + ImGui::GetWindowWidth();
    draw_stream(context, blocks, line, origin, height);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const ImVec2 min{origin.x + line.lefts[i], origin.y}, max{min.x + line.width, origin.y + height};
        if (max.x < left || min.x > right) continue;
        ImGui::PushID(static_cast<int>(i));
        draw_block(context, blocks[i], min, max, i == chosen);
        ImGui::PopID();
    }
    ImGui::SetCursorScreenPos({origin.x + line.end + context.px(kMapInset), start.y});
    ImGui::Dummy({1, 1});
    if (context.view.strip.block != context.view.stage) {
        context.view.strip.block = context.view.stage;
        ImGui::SetScrollX(std::max(line.lefts[chosen] + line.width / 2 - room.x / 2, 0.F));
    }
    if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0)
        ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * context.px(60));
}

}  // namespace attn::app
