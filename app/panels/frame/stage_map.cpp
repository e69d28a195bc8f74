#include "app/panels/frame/stage_map.hpp"
#include "app/panels/frame/stage_strip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "app/panels/compare/head_captions.hpp"
#include "app/panels/kit/model_blocks.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/block_layout.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

// In logical pixels:
constexpr float kMapHeight = 56, kBlockHeight = 44, kHeader = 182, kHeaderFrom = 1180;
constexpr float kEnd = 108, kLeastEnd = 30, kLayer = 196, kLeastLayer = 22, kGap = 24, kLeastGap = 4, kStackGap = 40, kLeastStackGap = 14;
constexpr float kNamed = 66, kDetailed = 118, kHeadMark = 9;

/// What the map draws: the blocks, the open one, and their positions.
struct MapPicture {
    std::vector<ModelBlock> blocks;
    std::size_t open = 0;
    std::vector<Stretch> places;
    OpenBlockRoom inside;
};

std::int64_t heads_of(const PanelContext& context, const ModelBlock& block) {
    for (const BlockPart& part : block.parts)
        if (part.kind != PartKind::FeedForward) return context.structure().shape_of(part.opens).size_of(Axis::H);
    return 0;
}

const char* part_label(PartKind kind) {
    return kind == PartKind::FeedForward ? "feed-forward" : kind == PartKind::CrossAttention ? "cross" : "heads";
}

/// The selected head as text, if there is no room for a chip per head.
std::string chosen_head_words(const PanelContext& context, std::int64_t heads) {
    return fmt::format("head {} of {}", context.view.head, heads);
}

std::string block_title(const PanelContext& context, const ModelBlock& block) {
    return block_title(context.structure(), block, token_noun(context.snapshot));
}

OpenBlockRoom inside_of(const PanelContext& context, const ModelBlock& block) {
    const Fonts& fonts = context.theme.fonts;
    OpenBlockRoom room;
    room.title = std::max(text_width(fonts.strong, block_title(context, block)), context.px(58));
    for (const BlockPart& part : block.parts) room.labels.push_back(text_width(fonts.label, part_label(part.kind)) + context.px(16));
    room.heads = heads_of(context, block);
    room.chosen = text_width(fonts.label, chosen_head_words(context, room.heads)) + context.px(16);
    return room;
}

MapPicture picture_of_map(const PanelContext& context, float room) {
    MapPicture picture;
    const Plan& plan = *context.structure().plan;
    picture.blocks = model_blocks(plan);
    picture.open = block_of(picture.blocks, plan, context.view.stage);
    picture.inside = inside_of(context, picture.blocks[picture.open]);
    std::vector<BlockRoom> rooms;
    for (std::size_t i = 0; i < picture.blocks.size(); ++i) {
        const ModelBlock& block = picture.blocks[i];
        const bool layer = block.kind == BlockKind::Layer, other_stack = i > 0 && picture.blocks[i - 1].stack != block.stack;
        BlockRoom space{context.px(layer ? kLayer : kEnd), context.px(layer ? kLeastLayer : kLeastEnd),
                        context.px(other_stack ? kStackGap : kGap), context.px(other_stack ? kLeastStackGap : kLeastGap)};
        if (i == picture.open) {
            const float wide = open_block_width(block, picture.inside, context.theme.scale);
            space.natural = std::max(space.natural, std::min(wide, context.px(660)));
            space.smallest = std::min(space.natural, least_open_block_width(block, picture.inside, context.theme.scale));
        }
        rooms.push_back(space);
    }
    picture.places = lay_out_blocks(rooms, picture.open, room, context.theme.scale);
    return picture;
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

/// Draws a closed block with as much detail as fits.
void draw_closed_block(PanelContext& context, const ModelBlock& block, ImVec2 min, ImVec2 max) {
    const auto& [colors, fonts, scale] = context.theme;
    const Plan& plan = *context.structure().plan;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Item item = item_at(context.ui(), "##block", min, {max.x - min.x, max.y - min.y}, {.tooltip = block_tooltip(context, block)});
    list.AddRectFilled(min, max, item.hovered ? mix(colors.raised, colors.text, 0.08F) : colors.raised, context.px(6));
    list.AddRect(min, max, colors.line, context.px(6));
    draw_focus_ring(context.ui(), item, context.px(6));
    const float width = (max.x - min.x) / scale, inside = context.px(8);
    const std::string title = block_title(context, block), number = block.layer >= 0 ? std::to_string(block.layer) : "";
    if (block.kind != BlockKind::Layer) {
        const std::string name = stage_name(plan.nodes()[block.end - 1].id);
        if (width >= kNamed) {
            draw_text_in(list, fonts.label, {min.x, min.y + context.px(5)}, {max.x, min.y + context.px(22)}, {0.5F, 0.5F}, colors.text,
                         elide(fonts.label, title, max.x - min.x - context.px(6)));
            draw_text_in(list, fonts.caption, {min.x, min.y + context.px(23)}, {max.x, max.y - context.px(5)}, {0.5F, 0.5F}, colors.muted,
                         elide(fonts.caption, name, max.x - min.x - context.px(6)));
        } else {
            draw_icon(list, block.kind == BlockKind::Start ? Icon::Next : Icon::Last, {(min.x + max.x) / 2, (min.y + max.y) / 2},
                      context.px(10), colors.muted);
        }
    } else if (width >= kDetailed) {
        draw_text(list, fonts.strong, {min.x + inside, min.y + context.px(4)}, colors.text, title);
        draw_layer_marks(context, list, block, {min.x + inside, max.y - context.px(8 + kHeadMark)}, {max.x - inside, max.y});
    } else {
        const std::string& name = width >= kNamed && text_width(fonts.label, title) <= max.x - min.x - context.px(8) ? title : number;
        ImFont* font = width >= 30 ? fonts.label : fonts.mono_tiny;
        if (text_width(font, name) <= max.x - min.x)
            draw_text_in(list, font, min, {max.x, max.y - context.px(14)}, {0.5F, 0.5F}, colors.text, name);
        draw_layer_marks(context, list, block, {min.x + context.px(5), max.y - context.px(7 + kHeadMark)}, {max.x - context.px(5), max.y});
    }
    if (item.pressed) go_to_stage(context, stage_in(plan, block, context.view.stage));
}

/// A small button inside the open block. True if pressed.
bool chip(PanelContext& context, const char* id, ImVec2 min, ImVec2 max, std::string_view text, bool chosen, std::string_view tooltip) {
    const auto& [colors, fonts, scale] = context.theme;
    const Item item = item_at(context.ui(), id, min, {max.x - min.x, max.y - min.y}, {.tooltip = tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color fill = chosen ? colors.chosen : item.hovered ? mix(colors.raised, colors.text, 0.12F) : colors.raised;
    list.AddRectFilled(item.min, item.max, fill, context.px(4));
    if (!chosen) list.AddRect(item.min, item.max, colors.line, context.px(4));
    ImFont* font = text.size() <= 2 ? fonts.mono_tiny : fonts.label;
    if (text_width(font, text) <= item.width())
        draw_text_in(list, font, item.min, item.max, {0.5F, 0.5F}, chosen ? ink_on(fill) : colors.text, text);
    draw_focus_ring(context.ui(), item, context.px(4));
    return item.pressed;
}

/// The circled plus where a result is added to the residual stream.
bool sum_sign(PanelContext& context, ImVec2 min, ImVec2 max, bool chosen) {
    const Palette& colors = context.theme.colors;
    const Item item = item_at(context.ui(), "##sum", min, {max.x - min.x, max.y - min.y},
                              {.tooltip = "Here the result is added to the residual stream."});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 middle{(min.x + max.x) / 2, (min.y + max.y) / 2};
    const float radius = context.px(7.5F), arm = context.px(4), line = context.px(1.5F);
    const Color ink = chosen ? colors.chosen : colors.good;
    list.AddCircleFilled(middle, radius, item.hovered ? colors.raised : colors.window, 24);
    list.AddCircle(middle, radius, ink, 24, line);
    list.AddLine({middle.x - arm, middle.y}, {middle.x + arm, middle.y}, ink, line);
    list.AddLine({middle.x, middle.y - arm}, {middle.x, middle.y + arm}, ink, line);
    draw_focus_ring(context.ui(), item, radius);
    return item.pressed;
}

/// In Write, the arrow keys go through what is written.
bool arrows_step(const PanelContext& context) { return context.view.view != View::Write; }

/// The open block's title; a click shows or hides the stages below.
void draw_open_title(PanelContext& context, const ModelBlock& block, ImVec2 min, ImVec2 max, bool folded) {
    const auto& [colors, fonts, scale] = context.theme;
    const bool no_room = folded && context.view.panes.thumbnails;
    const std::string tooltip =
        block_tooltip(context, block) + (no_room && arrows_step(context) ? "\n← and → step through its stages, which a higher window shows."
                                         : no_room                       ? "\nA higher window shows its stages."
                                         : folded                        ? "\nClick to show its stages (4)."
                                                                         : "\nClick to hide its stages (4).");
    const Item item = item_at(context.ui(), "##open", min, {max.x - min.x, max.y - min.y}, {.tooltip = tooltip});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.strong, {min.x, min.y + context.px(5)}, item.hovered ? colors.accent : colors.text,
              elide(fonts.strong, block_title(context, block), max.x - min.x));
    draw_text(list, fonts.caption, {min.x, min.y + context.px(24)}, colors.muted,
              no_room && arrows_step(context) ? "← → step"
              : folded                        ? "closed"
                                              : "open below");
    draw_focus_ring(context.ui(), item, context.px(4));
    if (item.pressed && !no_room) context.view.panes.thumbnails = !context.view.panes.thumbnails;
}

void draw_open_block(PanelContext& context, const MapPicture& picture, ImVec2 min, ImVec2 max, bool folded) {
    const auto& [colors, fonts, scale] = context.theme;
    const ModelBlock& block = picture.blocks[picture.open];
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(min, max, colors.window, context.px(6));
    list.AddRect(min, max, colors.accent, context.px(6), 0, context.px(2));
    const std::optional<PartKind> shown = block.kind == BlockKind::Layer ? part_of(context.view.stage) : std::nullopt;
    const float middle = min.y + context.px(29), high = context.px(9);
    for (const BlockItem& item : lay_out_open_block(block, picture.inside, max.x - min.x, scale)) {
        const float x0 = min.x + item.at.min, x1 = min.x + item.at.max;
        const ImVec2 low{x0, middle - high}, top{x1, middle + high};
        ImGui::PushID(static_cast<int>(item.part * 1000 + static_cast<std::size_t>(item.head)));
        if (item.kind == BlockItem::Kind::Title) {
            draw_open_title(context, block, {x0, min.y}, {x1, max.y}, folded);
        } else {
            const BlockPart& part = block.parts[item.part];
            // A click on the current part keeps the current stage.
            const StageId& to = shown == part.kind ? context.view.stage : part.opens;
            if (item.kind == BlockItem::Kind::Head) {
                if (item.head == 0)
                    draw_text(list, fonts.caption, {x0, min.y + context.px(4)}, shown == part.kind ? colors.text : colors.muted,
                              part.kind == PartKind::CrossAttention ? "cross-attention heads" : "heads");
                if (chip(context, "##head", low, top, std::to_string(item.head), item.head == context.view.head,
                         fmt::format("Head {} of {}", item.head, tensor_name(part.opens)))) {
                    context.view.head = item.head;
                    go_to_stage(context, to);
                }
            } else if (item.kind == BlockItem::Kind::HeadsLabel) {
                if (chip(context, "##heads", low, top, chosen_head_words(context, picture.inside.heads), shown == part.kind,
                         tensor_name(part.opens) + "\n[ and ] change the head."))
                    go_to_stage(context, part.opens);
            } else if (item.kind == BlockItem::Kind::Part) {
                if (chip(context, "##part", low, top, part_label(part.kind), shown == part.kind,
                         tensor_name(part.opens) + ": processes each word on its own."))
                    go_to_stage(context, part.opens);
            } else if (part.sum && sum_sign(context, low, top, context.view.stage == *part.sum)) {
                go_to_stage(context, *part.sum);
            }
        }
        ImGui::PopID();
    }
}

/// Draws the residual stream between blocks, and below it the connection from the encoder to the decoder.
void draw_lines(const PanelContext& context, const MapPicture& picture, ImVec2 origin, float top, float bottom) {
    const Palette& colors = context.theme.colors;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float middle = std::floor((top + bottom) / 2), line = context.px(2);
    const Color stream = context.structure().config.residual ? colors.good : colors.muted;
    for (std::size_t i = 0; i + 1 < picture.blocks.size(); ++i)
        if (picture.blocks[i].stack == picture.blocks[i + 1].stack)
            list.AddRectFilled({origin.x + picture.places[i].max, middle - line / 2},
                               {origin.x + picture.places[i + 1].min, middle + line / 2}, stream);
    float from = -1, to = -1;
    const float y = bottom + context.px(3);
    const auto below = [&](std::size_t i) { return origin.x + (picture.places[i].min + picture.places[i].max) / 2; };
    for (std::size_t i = 0; i < picture.blocks.size(); ++i) {
        const ModelBlock& block = picture.blocks[i];
        if (block.stack == Stack::Encoder) from = below(i);
        const bool reads = std::any_of(block.parts.begin(), block.parts.end(),
                                       [](const BlockPart& part) { return part.kind == PartKind::CrossAttention; });
        if (!reads || from < 0) continue;
        to = below(i);
        list.AddLine({to, bottom}, {to, y}, colors.axis(Axis::S), context.px(1.5F));
    }
    if (to < 0) return;
    list.AddLine({from, bottom}, {from, y}, colors.axis(Axis::S), context.px(1.5F));
    list.AddLine({from, y}, {to, y}, colors.axis(Axis::S), context.px(1.5F));
}

/// Draws the blocks from `origin` on; returns the open block's horizontal extent on screen.
Stretch draw_blocks(PanelContext& context, const MapPicture& picture, ImVec2 origin, bool folded) {
    const float top = origin.y + context.px((kMapHeight - kBlockHeight) / 2), bottom = top + context.px(kBlockHeight);
    draw_lines(context, picture, origin, top, bottom);
    const float left = ImGui::GetWindowPos().x, right = left + ImGui::GetWindowWidth();
    for (std::size_t i = 0; i < picture.blocks.size(); ++i) {
        const ImVec2 min{origin.x + picture.places[i].min, top}, max{origin.x + picture.places[i].max, bottom};
        if (max.x < left || min.x > right) continue;
        ImGui::PushID(static_cast<int>(i));
        if (i == picture.open) draw_open_block(context, picture, min, max, folded);
        else draw_closed_block(context, picture.blocks[i], min, max);
        ImGui::PopID();
    }
    return {origin.x + picture.places[picture.open].min, origin.x + picture.places[picture.open].max};
}

/// Draws the blocks in a child window that scrolls if they do not fit; returns the open block's horizontal extent on screen.
Stretch draw_map(PanelContext& context, bool folded) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 origin = ImGui::GetCursorScreenPos();
    const float all = ImGui::GetContentRegionAvail().x;
    const float header = all < context.px(kHeaderFrom) ? 0 : context.px(kHeader);
    if (header > 0) {
        ImDrawList& list = *ImGui::GetWindowDrawList();
        const float x = origin.x + context.px(10);
        draw_spaced_text(list, fonts.small, {x, origin.y + context.px(10)}, colors.muted, "MODEL", context.px(1));
        draw_text(list, fonts.label, {x, origin.y + context.px(27)}, colors.faint,
                  arrows_step(context) ? "click a block; ← → step" : "click a block");
    }
    const float room = all - header - context.px(8);
    const MapPicture picture = picture_of_map(context, room);
    ImGui::SetCursorScreenPos({origin.x + header + context.px(4), origin.y});
    const Scrolled scrolled(context.ui(), "##map", {room, context.px(kMapHeight)},
                            {.flags = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse, .padded = false, .fades = false});
    Stretch open = draw_blocks(context, picture, ImGui::GetCursorScreenPos(), folded);
    ImGui::SetCursorPos({picture.places.back().max - 1, 0});
    ImGui::Dummy({1, 1});
    if (context.view.strip.block != context.view.stage) {
        const Stretch& place = picture.places[picture.open];
        ImGui::SetScrollX(std::max((place.min + place.max - room) / 2, 0.F));
        context.view.strip.block = context.view.stage;
    }
    if (ImGui::IsWindowHovered() && ImGui::GetIO().MouseWheel != 0)
        ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseWheel * context.px(60));
    open.min = std::max(open.min, origin.x + header);
    open.max = std::min(open.max, origin.x + all);
    return open;
}

}  // namespace

void draw_stage_map(PanelContext& context) {
    if (context.ready()) draw_map(context, true);
}

void draw_stages(PanelContext& context) {
    if (!context.ready()) return;
    const ImVec2 origin = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const Stretch open = draw_map(context, false);
    const float bottom = origin.y + context.px((kMapHeight + kBlockHeight) / 2), top = origin.y + context.px(kMapHeight + 4);
    // Lines that connect the open block with its stages below.
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const Color line = with_alpha(context.theme.colors.accent, 0.7F);
    list.AddLine({open.min + context.px(4), bottom}, {origin.x, top}, line, context.px(1.2F));
    list.AddLine({open.max - context.px(4), bottom}, {origin.x + room.x, top}, line, context.px(1.2F));
    ImGui::SetCursorScreenPos({origin.x, top});
    const Scrolled scrolled(
        context.ui(), "##stages", {room.x, origin.y + room.y - top},
        {.flags = ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoScrollWithMouse, .padded = false, .fades = false});
    draw_thumbnails(context);
}

void draw_stage_line(PanelContext& context) {
    if (!context.ready()) return;
    const Palette& colors = context.theme.colors;
    const Fonts& fonts = context.theme.fonts;
    const Plan& plan = *context.structure().plan;
    const std::vector<ModelBlock> blocks = model_blocks(plan);
    const std::size_t open = block_of(blocks, plan, context.view.stage);
    const ImVec2 origin = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const auto step = [&](const char* id, Icon icon, float x, std::string_view tooltip) {
        const Item item = item_at(context.ui(), id, {x, origin.y}, {context.px(32), room.y}, {.tooltip = tooltip});
        draw_icon(*ImGui::GetWindowDrawList(), icon, {(item.min.x + item.max.x) / 2, (item.min.y + item.max.y) / 2}, context.px(11),
                  item.hovered ? colors.text : colors.muted);
        draw_focus_ring(context.ui(), item, context.px(6));
        return item.pressed;
    };
    if (step("##back", Icon::Previous, origin.x, "Previous block of the model (Page Up)"))
        step_block(context.view, context.structure(), -1);
    if (step("##on", Icon::Next, origin.x + room.x - context.px(32), "Next block of the model (Page Down)"))
        step_block(context.view, context.structure(), +1);
    const std::string words =
        fmt::format("{} · {}", block_title(context, blocks[open]), stage_title(context.view.stage, token_noun(context.snapshot)));
    const std::string place = fmt::format("block {} of {}", open + 1, blocks.size());
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float width = text_width(fonts.strong, words) + context.px(12) + text_width(fonts.caption, place);
    const ImVec2 min{origin.x + std::floor((room.x - width) / 2), origin.y}, max{origin.x + room.x, origin.y + room.y};
    draw_text_in(list, fonts.strong, min, max, {0, 0.5F}, colors.text, words);
    draw_text_in(list, fonts.caption, {min.x + width - text_width(fonts.caption, place), min.y}, max, {0, 0.5F}, colors.muted, place);
}

}  // namespace attn::app
