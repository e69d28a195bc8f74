#include "app/panels/frame/frame.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "app/panels/actions/actions.hpp"
#include "app/panels/actions/control_actions.hpp"
#include "app/panels/actions/palette.hpp"
#include "app/panels/compare/comparison.hpp"
#include "app/panels/edit/cell_edit.hpp"
#include "app/panels/export/export_line.hpp"
#include "app/panels/files/files.hpp"
#include "app/panels/frame/completion_list.hpp"
#include "app/panels/frame/frame_layout.hpp"
#include "app/panels/frame/help_sheet.hpp"
#include "app/panels/frame/rail.hpp"
#include "app/panels/frame/strip.hpp"
#include "app/panels/frame/text_row.hpp"
#include "app/panels/frame/top_bar.hpp"
#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/pane.hpp"
#include "app/panels/kit/problem_sentence.hpp"
#include "app/panels/kit/read_with_stories.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/texts.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/panels/lessons/quoted_cells.hpp"
#include "app/panels/settings/mistakes.hpp"
#include "app/panels/settings/recording_settings.hpp"
#include "app/panels/settings/settings.hpp"
#include "app/panels/train/recorded_course.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/panels/views/dump_findings.hpp"
#include "app/panels/views/knock_out_question.hpp"
#include "app/panels/views/look_at_line.hpp"
#include "app/panels/views/view_table.hpp"
#include "app/session/document/presets.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

/// The draggable gap between two panes. Returns the movement in logical pixels.
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

void splitters(PanelContext& context, const FrameLayout& layout) {
    PaneState& panes = context.view.panes;
    const float gap = context.px(kFrameGap);
    if (!layout.left_rail) {
        const float moved =
            splitter(context, "##split_left", {{layout.left.max.x, layout.left.min.y}, {layout.left.max.x + gap, layout.left.max.y}}, true);
        if (moved != 0) panes.left_width = std::clamp(layout.left_width + moved, kMinLeft, kMaxSide);
    }
    if (!layout.right_tab) {
        const float moved = splitter(context, "##split_right",
                                     {{layout.right.min.x - gap, layout.right.min.y}, {layout.right.min.x, layout.right.max.y}}, true);
        if (moved != 0) panes.right_width = std::clamp(layout.right_width - moved, kMinRight, kMaxSide);
    }
}

/// The error for settings that cannot be computed, shown above the last valid picture if there is one.
void draw_problem(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, padding = context.px(10);
    const std::string text = problem_sentence(problem_words(context));
    context.view.drawn.problem = true;
    const std::optional<std::string> readable = text_for_stories(context);
    constexpr float kReadButton = 170;
    const float beside = readable ? context.px(kReadButton) + padding : 0, room = width - 2 * padding - beside;
    const float height = std::max(wrapped_height(fonts.body, room, text), context.px(readable ? 30 : 0)) + 2 * padding;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {at.x + width, at.y + height}, with_alpha(colors.bad, 0.14F), context.px(6));
    list.AddRect(at, {at.x + width, at.y + height}, colors.bad, context.px(6));
    draw_text_wrapped(list, fonts.body, {at.x + padding, at.y + padding}, room, colors.text, text);
    ImGui::SetCursorScreenPos({at.x + width - beside, at.y + padding});
    if (readable && button(context.ui(), kReadWithStories, {.width = kReadButton, .notes = {.tooltip = kReadsAnyWord}}))
        read_with_stories(context, *readable);
    ImGui::SetCursorScreenPos({at.x, at.y + height + padding});
    context.view.drawn.problem_box = Box{at, {at.x + width, at.y + height}};
}

void draw_centre(PanelContext& context) {
    context.view.drawn.centre = true;
    if (!context.snapshot.problem.empty() && !says_problem_in_line(context, ImGui::GetContentRegionAvail().x)) draw_problem(context);
    draw_mistake_sign(context);
    const ViewPanels& panels = panels_of(context.view.view);
    if (panels.needs_trace && !context.ready()) {
        if (context.snapshot.problem.empty())
            paragraph(context.ui(), context.theme.fonts.body, context.theme.colors.muted, context.computing("Computing …"));
        return;
    }
    if (panels.needs_model && context.document.recorded)
        return paragraph(context.ui(), context.theme.fonts.body, context.theme.colors.muted,
                         "A recording does not run: it holds the numbers that your code computed. Step, Heads, Lines and Totals show "
                         "them, and Check my code tells what was found in it.");
    if (panels.draw != nullptr) panels.draw(context);
    // A view that lacks its numbers draws no such line.
    if (context.view.drawn.problem_in_line && !context.view.drawn.problem) draw_problem(context);
}

/// Advances the playback of stages: one step every 1.2 s until the last one.
void advance_playing(PanelContext& context) {
    constexpr double kSecondsPerStage = 1.2;
    ViewState& view = context.view;
    if (!view.playing || !context.ready() || context.now < view.next_step_at) return;
    view.next_step_at = context.now + kSecondsPerStage;
    view.playing = step_stage(view, context.structure(), +1);
}

/// Unless a key has chosen another head meanwhile.
void return_to_chosen_head(ViewState& view) {
    const std::optional<HeadUnderMouse> under = std::exchange(view.head_under_mouse, {});
    if (under && view.head == under->head) view.head = under->chosen;
}

void keep_up_with_changes(const PanelContext& context) {
    std::optional<double>& since = context.view.outdated_since;
    // Generation and replay change the document faster than it may be computed; fading would blink.
    const bool changes_by_itself = context.writing || context.view.train.replaying;
    if (!context.outdated || !context.ready() || changes_by_itself) since.reset();
    else if (!since) since = context.now;
}

/// Marks come before edits, which open a field over them.
constexpr std::array<MapHook, 2> kMapHooks = {mark_quoted_cells, offer_edits};

constexpr ImGuiWindowFlags kFixed = ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;

void draw_cell(PanelContext& context) {
    const ViewPanels& panels = panels_of(context.view.view);
    if (!panels.needs_model || !context.document.recorded) panels.draw_cell(context);
}

void draw_strip(PanelContext& context, const FrameLayout& layout) {
    if (layout.strip_look == StripLook::None) return;
    void (*const draw)(PanelContext&) = layout.strip_look == StripLook::Pictures ? draw_strip_with_pictures
                                        : layout.strip_look == StripLook::Names  ? draw_strip_with_names
                                                                                 : draw_strip_line;
    pane(context, "##strip", layout.strip, PaneLook::Card, {0, 0}, draw, kFixed);
    if (layout.map)
        pane(context, "##model_map", {layout.strip.min, {layout.strip.max.x, layout.strip.min.y + context.px(kMapBand)}}, PaneLook::Bare,
             {0, 0}, draw_model_map, kFixed);
}

/// A side pane: its id, what draws it, what draws all of it where it is a short one, and its window flags.
struct SidePane {
    const char* id;
    void (*draw)(PanelContext&);
    void (*draw_all)(PanelContext&) = nullptr;
    int flags = 0;
};

/// The settings pane or, in a narrow window, its rail, and the drawer that opens over the picture.
void draw_left(PanelContext& context, const FrameLayout& layout, const SidePane& side) {
    if (layout.left_rail) pane(context, "##rail", layout.left, PaneLook::Card, {3, 6}, draw_settings_rail, kFixed);
    else pane(context, side.id, layout.left, PaneLook::Card, {16, 14}, side.draw, side.flags);
    if (side.draw_all != nullptr) pane(context, "##all_settings", layout.left_drawer, PaneLook::Drawer, {16, 14}, side.draw_all, kFixed);
    else if (layout.left_rail) pane(context, side.id, layout.left_drawer, PaneLook::Drawer, {16, 14}, side.draw, side.flags);
}

void draw_right(PanelContext& context, const FrameLayout& layout) {
    if (layout.right_tab) pane(context, "##tab", layout.right, PaneLook::Card, {0, 0}, draw_cell_tab, kFixed);
    else pane(context, "##cell", layout.right, PaneLook::Card, {16, 14}, draw_cell);
    pane(context, "##cell", layout.right_drawer, PaneLook::Drawer, {16, 14}, draw_cell);
}

void draw_veil(PanelContext& context) {
    const ImVec2 min = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    ImGui::GetWindowDrawList()->AddRectFilled(min, {min.x + size.x, min.y + size.y}, with_alpha(context.theme.colors.pane, 0.6F),
                                              context.px(10));
}

/// Fades a pane with numbers from before the last change. A window of its own, because a pane's child windows are drawn over the pane.
void fade_outdated(PanelContext& context, const char* id, const Box& box) {
    if (fades_now(context)) pane(context, id, box, PaneLook::Bare, {0, 0}, draw_veil, kFixed | ImGuiWindowFlags_NoInputs);
}

/// The centre view with the cell pane beside it and the stages below.
void draw_picture(PanelContext& context, const FrameLayout& layout) {
    const bool fades = panels_of(context.view.view).of_document;
    // The centre is drawn first, so that the other panes highlight what is hovered in the same frame.
    const float padding = is_low_window(context) ? 10 : 16;
    const PaneLook look = context.picture_alone ? PaneLook::Bare : PaneLook::Card;
    pane(context, "##centre", layout.centre, look, {24, padding}, draw_centre, kFixed);
    Box old = layout.centre;
    if (context.view.drawn.problem_box) old.min.y = context.view.drawn.problem_box->max.y;
    if (fades) fade_outdated(context, "##old_centre", old);
    draw_strip(context, layout);
    if (layout.strip_look != StripLook::Line) fade_outdated(context, "##old_strip", layout.strip);
    splitters(context, layout);
    draw_left(context, layout, {"##settings", draw_settings, draw_all_settings, kFixed});
    draw_right(context, layout);
    if (fades && !layout.right_tab) fade_outdated(context, "##old_cell", layout.right);
}

/// Beside what recorded code logged: its steps and attentions.
void draw_recorded_settings(PanelContext& context) {
    section_heading(context.ui(), "Recording");
    gap(context.ui(), 6);
    draw_scrolled_column(context, "##recorded_scroll", ImGui::GetContentRegionAvail().y, draw_recording);
}

/// The Train view: the settings take the full height on the left; the view lays out the rest, which is
/// returned.
Box draw_training(PanelContext& context, FrameLayout layout) {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    const float bottom = size.y - context.px(kFrameMargin);
    if (layout.left.height() > 0) layout.left.max.y = bottom;
    if (layout.left_drawer.height() > 0) layout.left_drawer.max.y = bottom;
    const Box rest{layout.centre.min, {size.x - context.px(kFrameMargin), bottom}};
    pane(context, "##training", rest, PaneLook::Bare, {0, 0}, draw_train_view, kFixed);
    layout.right = {};
    layout.strip_look = StripLook::None;
    splitters(context, layout);
    draw_left(context, layout, {"##run", has_recorded_course(context) ? draw_recorded_settings : draw_train_settings, nullptr, kFixed});
    return rest;
}

/// While the picture stands alone, how to get the rest back.
void draw_way_back(PanelContext& context, float right) {
    if (context.picture_alone) return;
    ImGui::SetCursorScreenPos({right - context.px(kFrameMargin + 90), context.px(2)});
    if (link(context.ui(), "all panes (Esc)", "Shows the rest of the window again (F11).")) context.view.panes.only_centre = false;
}

/// It would keep two models open for a view that is of another one.
void forget_comparison_of_other_models(PanelContext& context) {
    PrecisionView& view = context.view.precision;
    const std::shared_ptr<const OpenedModel>& shown = context.document.model;
    if (view.last_of == nullptr || view.last_of == shown || (view.last_of == view.opened_a.lock() && shown == view.opened_b.lock())) return;
    view.last_of = nullptr;
    view.last = nullptr;
}

/// A window as large as the display, without anything of its own.
void begin_whole_window(ImVec2 size) {
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(size);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {0, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
    // No background: the framebuffer is already cleared to this colour, and filling it again would cost as much as everything else.
    ImGui::Begin("##attnscope", nullptr,
                 ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                     ImGuiWindowFlags_NoBringToFrontOnFocus | ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoNav |
                     ImGuiWindowFlags_NoSavedSettings);
    ImGui::PopStyleVar(3);
}

/// What the panes of this frame need of a window of this width.
FrameNeeds needs_of_frame(const PanelContext& context, float width) {
    constexpr float kRunSettings = 256;
    FrameNeeds needs{.panes = context.view.panes};
    if (is_about_dump(context)) needs.panes.left = needs.panes.strip = needs.panes.left_open = false;
    needs.lesson = lesson_strip_height(context, width - 2 * context.px(kFrameMargin));
    if (context.view.view == View::Train) needs.least_left = kRunSettings;
    else needs.both_texts = shows_both_texts(context);
    return needs;
}

/// The top bar and the text.
void draw_rows_above(PanelContext& context, const FrameLayout& layout) {
    ViewState& view = context.view;
    pane(context, "##top", layout.top, PaneLook::Bare, {0, 0}, draw_top_bar, kFixed);
    if (context.ready()) keep_view_valid(view, context.structure());
    // A run has texts of its own. What is compared is said everywhere.
    const bool before_run = view.view == View::Train && is_before_first_run(context);
    if (!is_about_dump(context) && (!before_run || view.compare.on()))
        pane(context, "##text", layout.row, PaneLook::Bare, {kFrameMargin, 0}, draw_text_row, kFixed);
}

}  // namespace

double seconds_at_rest(const ViewState& view, double now) {
    double rest = std::numeric_limits<double>::infinity();
    const auto moves_at = [&](double time) { rest = std::min(rest, std::max(time - now, 0.0)); };
    if (view.morph.moving(now) || view.drawn.settles) moves_at(now);
    if (view.train.replaying) moves_at(view.train.next_moment_at);
    if (view.playing) moves_at(view.next_step_at);
    if (const std::optional<double> fading = fades_at(view); fading && *fading > now) moves_at(*fading);
    if (view.files.notices.until > now) moves_at(view.files.notices.until);
    for (const ToldRange& told : view.told_ranges)
        if (told.until > now) moves_at(told.until);
    for (const double until : {view.palette.told.until, view.palette.framed.until})
        if (until > now) moves_at(until);
    if (const std::optional<double> shown = export_shown_from(view.files); shown && *shown > now) moves_at(*shown);
    return rest;
}

void draw_frame(PanelContext& context) {
    ViewState& view = context.view;
    view.focus.begin_frame();
    view.drawn = {};
    context.map_hooks = kMapHooks;
    if (const std::optional<Look> next = std::exchange(view.next_look, {})) look_afresh(view, *next);
    if (view.next_words.model != context.document.model) view.next_words = {};
    forget_comparison_of_other_models(context);
    end_stale_comparison(context);
    // Before anything in this frame selects a position of a text that is yet to be computed.
    if (context.ready() && !context.outdated) keep_selection_in_text(view, context.structure());
    keep_up_with_lesson(context);
    if (context.ready()) {
        keep_up_with_trail(view, context.structure());
        keep_view_valid(view, context.structure());
        keep_up_with_opening(context);
        keep_up_with_vocabulary(context);
    }
    const std::tuple looked_at(view.view, view.stage, view.head);
    advance_playing(context);
    keep_up_with_changes(context);
    keep_up_with_training(context);
    view.zoom_by_key = 0;
    view.precision.line_by_key = 0;
    handle_shortcuts(context);
    return_to_chosen_head(view);
    view.hover_shown = view.hovered;
    view.hovered.clear();

    const ImVec2 size = ImGui::GetIO().DisplaySize;
    begin_whole_window(size);
    // A picture by itself has no edges, so that its margins can be cut off.
    if (context.picture_alone) context.canvas.fill(*ImGui::GetWindowDrawList(), {0, 0}, size, context.theme.colors.pane);

    const FrameLayout layout = lay_out_frame(needs_of_frame(context, size.x), size, context.theme.scale);
    if (!view.panes.only_centre) draw_rows_above(context, layout);
    if (view.lesson.open()) pane(context, "##lesson", layout.lesson, PaneLook::Card, {0, 0}, draw_lesson_strip, kFixed);
    // An example chosen above looks at stages that the model still shown may not have.
    if (context.ready()) keep_view_valid(view, context.structure());
    if (std::tuple(view.view, view.stage, view.head) != looked_at) context.inquiry.forget_parts();
    Box picture = layout.centre;
    if (view.view == View::Train) picture = draw_training(context, layout);
    else draw_picture(context, layout);
    if (view.panes.only_centre) draw_way_back(context, size.x);
    draw_caption_pointer(context);
    draw_cell_edit(context);
    ImGui::End();
    // Only one sheet can have the keyboard.
    if (view.palette.open || file_sheet_is_open(context)) view.help = false;
    if (view.help) draw_help_sheet(context);
    draw_palette(context);
    draw_word_sheet(context);
    draw_framed_control(context);
    draw_file_sheet(context, picture);
}

}  // namespace attn::app
