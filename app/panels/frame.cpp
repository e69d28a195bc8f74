#include "app/panels/frame.hpp"

#include <algorithm>

#include "app/panels/actions/actions.hpp"
#include "app/panels/actions/palette.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/look.hpp"
#include "app/panels/mistakes.hpp"
#include "app/panels/navigation.hpp"
#include "app/panels/pane.hpp"
#include "app/panels/panels.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/panels/views/knock_out_view.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// Places of the frame's panes, in pixels.
struct FrameLayout {
    Box top, text, next, lesson, left, centre, right, strip;
};

constexpr float kTopBar = 48, kTextRow = 64, kGap = 12, kMargin = 14;
constexpr float kMinLeft = 200, kMinRight = 260, kMinCentre = 620, kMinStrip = 96, kMaxSide = 480, kMaxStrip = 240, kFoldedStrip = 48;

/// On a small window the panes give way before the picture does.
PaneState fitted(const PaneState& panes, float width, float height, bool lesson) {
    PaneState fit = panes;
    if (width < 1400) {
        const float shrink = std::clamp((width - 900) / 500, 0.F, 1.F);
        fit.left_width = std::min(fit.left_width, kMinLeft + shrink * 48);
        fit.right_width = std::min(fit.right_width, kMinRight + shrink * 68);
    }
    if (height < 860) fit.strip_height = std::min(fit.strip_height, 112.F);
    if (height < 800) fit.strip_height = kFoldedStrip;  // names only: the picture needs the room
    if (width - fit.left_width - fit.right_width < kMinCentre + 4 * kGap) fit.right = false;
    if (width - fit.left_width < kMinCentre + 3 * kGap) fit.left = false;
    if (height < (lesson ? 800 : 460)) fit.strip = false;
    if (panes.only_centre) fit.left = fit.right = fit.strip = false;
    return fit;
}

/// What a lesson says stands above the picture, also when the picture is alone.
FrameLayout lay_out(const PaneState& panes, const ImVec2& size, const PanelContext& context) {
    const auto px = [&](float logical) { return context.px(logical); };
    FrameLayout layout;
    const bool bare = panes.only_centre;
    const float text_top = bare ? 0 : px(kTopBar);
    float body_top = text_top + (bare ? px(kMargin) : px(kTextRow));
    float body_bottom = size.y - px(kMargin);
    layout.top = {{0, 0}, {size.x, px(kTopBar)}};
    layout.text = {{0, text_top}, {size.x, body_top}};
    if (const float high = bare ? 0 : next_row_height(context, size.y); high > 0) {
        layout.next = {{0, body_top}, {size.x, body_top + high}};
        body_top += high;
    }
    if (const float high = lesson_strip_height(context, size.x - 2 * px(kMargin)); high > 0) {
        layout.lesson = {{px(kMargin), body_top}, {size.x - px(kMargin), body_top + high}};
        body_top = layout.lesson.max.y + px(kGap);
    }
    if (panes.strip) {
        layout.strip = {{px(kMargin), body_bottom - px(panes.strip_height)}, {size.x - px(kMargin), body_bottom}};
        body_bottom = layout.strip.min.y - px(kGap);
    }
    float x0 = px(kMargin), x1 = size.x - px(kMargin);
    if (panes.left) {
        layout.left = {{x0, body_top}, {x0 + px(panes.left_width), body_bottom}};
        x0 = layout.left.max.x + px(kGap);
    }
    if (panes.right) {
        layout.right = {{x1 - px(panes.right_width), body_top}, {x1, body_bottom}};
        x1 = layout.right.min.x - px(kGap);
    }
    layout.centre = {{x0, body_top}, {x1, body_bottom}};
    return layout;
}

/// The gap between two panes, which can be dragged. Returns the movement in logical pixels.
float splitter(const PanelContext& context, const char* id, const Box& rect, bool vertical) {
    if (rect.width() < 1 || rect.height() < 1) return 0;
    ImGui::SetCursorScreenPos(rect.min);
    const Item item = begin_item(context.ui(), id, {rect.width(), rect.height()},
                                 {.tooltip = "Drag to make the pane larger or smaller.", .keyboard = false});
    if (!item.hovered && !item.held) return 0;
    ImGui::SetMouseCursor(vertical ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    const ImVec2 middle{(rect.min.x + rect.max.x) / 2, (rect.min.y + rect.max.y) / 2};
    const float half = context.px(20);
    ImDrawList* list = ImGui::GetWindowDrawList();
    if (vertical) list->AddLine({middle.x, middle.y - half}, {middle.x, middle.y + half}, context.theme.colors.accent, context.px(3));
    else list->AddLine({middle.x - half, middle.y}, {middle.x + half, middle.y}, context.theme.colors.accent, context.px(3));
    if (!item.held) return 0;
    const ImVec2 moved = ImGui::GetIO().MouseDelta;
    return (vertical ? moved.x : moved.y) / context.theme.scale;
}

void splitters(PanelContext& context, const FrameLayout& layout, const PaneState& shown) {
    PaneState& panes = context.view.panes;
    const float gap = context.px(kGap);
    if (shown.left) {
        const float moved =
            splitter(context, "##split_left", {{layout.left.max.x, layout.left.min.y}, {layout.left.max.x + gap, layout.left.max.y}}, true);
        if (moved != 0) panes.left_width = std::clamp(shown.left_width + moved, kMinLeft, kMaxSide);
    }
    if (shown.right) {
        const float moved = splitter(context, "##split_right",
                                     {{layout.right.min.x - gap, layout.right.min.y}, {layout.right.min.x, layout.right.max.y}}, true);
        if (moved != 0) panes.right_width = std::clamp(shown.right_width - moved, kMinRight, kMaxSide);
    }
    if (shown.strip) {
        const float moved = splitter(context, "##split_strip",
                                     {{layout.strip.min.x, layout.strip.min.y - gap}, {layout.strip.max.x, layout.strip.min.y}}, false);
        if (moved != 0) panes.strip_height = std::clamp(shown.strip_height - moved, kMinStrip, kMaxStrip);
    }
}

/// Why what was set cannot be computed, above the picture of the last state that could.
void draw_problem(const PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, padding = context.px(10);
    const std::string text = context.snapshot.problem + " — below is the last state that worked.";
    const float height = wrapped_height(fonts.body, width - 2 * padding, text) + 2 * padding;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {at.x + width, at.y + height}, with_alpha(colors.bad, 0.14F), context.px(6));
    list.AddRect(at, {at.x + width, at.y + height}, colors.bad, context.px(6));
    draw_text_wrapped(list, fonts.body, {at.x + padding, at.y + padding}, width - 2 * padding, colors.text, text);
    ImGui::SetCursorScreenPos({at.x, at.y + height + padding});
}

void draw_centre(PanelContext& context) {
    if (context.ready() && !context.snapshot.problem.empty()) draw_problem(context);
    draw_mistake_sign(context);
    switch (context.view.view) {
    case View::Step:
        draw_step_view(context);
        break;
    case View::Heads:
        draw_heads_view(context);
        break;
    case View::Grid:
        draw_grid_view(context);
        break;
    case View::Lines:
        draw_lines_view(context);
        break;
    case View::Totals:
        draw_totals_view(context);
        break;
    case View::Lens:
        draw_lens_view(context);
        break;
    case View::KnockOut:
        draw_knock_out_view(context);
        break;
    case View::Doctor:
        draw_doctor_view(context);
        break;
    case View::Train:  // fills the frame with panes of its own
        break;
    }
}

/// Space plays the stages: a step every 1.2 s until the last one.
void advance_playing(PanelContext& context) {
    constexpr double kSecondsPerStage = 1.2;
    ViewState& view = context.view;
    if (!view.playing || !context.ready() || context.now < view.next_step_at) return;
    view.next_step_at = context.now + kSecondsPerStage;
    view.playing = step_stage(view, context.trace(), +1);
}

constexpr ImGuiWindowFlags kFixed = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;

/// The right pane: the chosen cell of what the centre shows.
void draw_cell(PanelContext& context) {
    if (context.view.view == View::Totals) return draw_totals_cell(context);
    if (context.view.view == View::Lens) return draw_lens_cell(context);
    draw_inspector(context);
    draw_histogram_section(context);
}

/// The picture in the centre with the chosen cell beside and the stages below it.
void draw_picture(PanelContext& context, const FrameLayout& layout, const PaneState& shown) {
    // The centre comes first: what is hovered there lights up in the panes beside it in the same frame.
    pane(context, "##centre", layout.centre, PaneLook::Card, {24, 16}, draw_centre, kFixed);
    if (shown.strip)
        pane(context, "##strip", layout.strip, PaneLook::Card, {8, 6}, draw_stage_strip,
             ImGuiWindowFlags_HorizontalScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
    if (shown.left) pane(context, "##settings", layout.left, PaneLook::Card, {16, 14}, draw_settings);
    if (shown.right) pane(context, "##cell", layout.right, PaneLook::Card, {16, 14}, draw_cell);
    splitters(context, layout, shown);
}

/// The Train view has the settings at the left from top to bottom, and lays out the rest itself.
void draw_training(PanelContext& context, FrameLayout layout, PaneState shown) {
    if (shown.strip) layout.left.max.y = layout.strip.max.y;
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    const Box rest{layout.centre.min, {size.x - context.px(kMargin), size.y - context.px(kMargin)}};
    pane(context, "##training", rest, PaneLook::Bare, {0, 0}, draw_train_view, kFixed);
    if (shown.left) pane(context, "##run", layout.left, PaneLook::Card, {16, 14}, draw_train_settings, kFixed);
    shown.right = shown.strip = false;
    splitters(context, layout, shown);
}

}  // namespace

void draw_frame(PanelContext& context) {
    ViewState& view = context.view;
    view.focus.begin_frame();
    end_stale_comparison(context);
    keep_up_with_lesson(context);
    if (context.ready()) {
        keep_view_valid(view, context.trace());
        keep_up_with_opening(context);
    }
    advance_playing(context);
    keep_up_with_training(context);
    handle_shortcuts(context);
    view.hover_shown = view.hovered;
    view.hovered.clear();

    const ImVec2 size = ImGui::GetIO().DisplaySize;
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(size);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
    // No background: the screen is cleared to the window's colour, and painting it again costs as much as all the rest.
    ImGui::Begin("##attnscope", nullptr,
                 ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoSavedSettings);
    ImGui::PopStyleVar(3);

    const PaneState shown = fitted(view.panes, size.x / context.theme.scale, size.y / context.theme.scale, view.lesson.open());
    const FrameLayout layout = lay_out(shown, size, context);
    if (!shown.only_centre) {
        pane(context, "##top", layout.top, PaneLook::Bare, {18, 0}, draw_top_bar, kFixed);
        pane(context, "##text", layout.text, PaneLook::Bare, {18, 0}, draw_text_row, kFixed);
        if (layout.next.height() > 1) pane(context, "##next", layout.next, PaneLook::Bare, {18, 0}, draw_next_row, kFixed);
    }
    if (view.lesson.open()) pane(context, "##lesson", layout.lesson, PaneLook::Card, {0, 0}, draw_lesson_strip, kFixed);
    if (view.view == View::Train) draw_training(context, layout, shown);
    else draw_picture(context, layout, shown);
    draw_cell_edit(context);
    ImGui::End();
    if (view.help) draw_help_sheet(context);
    draw_palette(context);
    draw_file_sheet(context);
}

}  // namespace attn::app
