#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/folder_view.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/kit/navigation.hpp"
#include "app/panels/kit/stage_words.hpp"
#include "app/panels/kit/stations.hpp"
#include "app/session/lessons/lesson.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr float kFieldLabel = 86;

/// Where to look for the step: as it is shown now, with its panes.
Look shown_look(const ViewState& view) {
    Look look = look_of(view);
    // Views of many heads have a stage of their own.
    const bool many = view.view == View::Heads || view.view == View::Grid;
    if (many && is_attention_map(look.stage.stage)) look.stage = of_same_attention(look.stage, view.heads.stage);
    look.settings = view.panes.left;
    look.inspector = view.panes.right;
    look.stages = view.panes.strip;
    return look;
}

/// What the view shows, in plain words.
std::string usual_title(const PanelContext& context) {
    const ViewState& view = context.view;
    if (view.view != View::Step) return std::string(view_info(view.view).title);
    const std::vector<Station> stations = stations_of(*context.structure().plan, view.stage, true);
    return station_heading(stations[station_with(stations, view.stage)], token_noun(context.snapshot));
}

/// A sentence that quotes the chosen cell, so that it stays true; "" if none is chosen.
std::string usual_caption(const PanelContext& context) {
    const std::optional<CellRef> cell = selected_cell(context.view, context.structure(), context.view.locked);
    if (!cell) return "";
    std::string index;
    for (int axis = 0; axis < context.structure().shape_of(cell->stage).rank(); ++axis)
        index += fmt::format("{}{}", axis == 0 ? "" : ",", cell->index[static_cast<std::size_t>(axis)]);
    const bool plain = cell->stage.stack == Stack::Main && cell->stage.attention == kSelfAttention;
    const std::string number = fmt::format("{{{}[{}]}}", plain ? stage_name(cell->stage) : tensor_name(cell->stage), index);
    if (!plain || !is_attention_map(cell->stage.stage)) return fmt::format("The chosen number is {}.", number);
    const std::string text = cell->index[0] == 0 ? "" : fmt::format("{},", cell->index[0]);
    return fmt::format("From “{{token[{0}{1}]}}” to “{{token[{0}{2}]}}”: {3}.", text, cell->index[2], cell->index[3], number);
}

/// What is in the file now, as far as it is known; the request for it is made here.
const FilePreview* preview_of_lesson(PanelContext& context) {
    FileView& view = context.view.files;
    const std::string path = without_tilde(view.path.text);
    if (std::exchange(view.previewed, path) != path) context.commands.push_back({command::PreviewFile{path}, ""});
    const FilePreview* preview = context.files.preview.get();
    return preview != nullptr && preview->path == path ? preview : nullptr;
}

struct LessonFile {
    std::string words;  ///< what will become of it
    bool good = true;
};
LessonFile judge_file(const PanelContext& context, const FilePreview* preview) {
    const std::string& path = context.view.files.path.text;
    if (path.empty() || path.back() == '/') return {"The lesson needs a file.", false};
    if (!path.ends_with(".json")) return {"The name must end in .json.", false};
    if (preview == nullptr) return {" "};
    if (!preview->there) return {"A new lesson, which begins with this step."};
    if (preview->words.starts_with("Lesson"))
        return {fmt::format("This step comes after the others. {}", visible_text(preview->words, true))};
    return {"This file is no lesson: choose another name.", false};
}

/// A label and a field beside it, with what is wrong in it below; true if Enter was pressed in it.
bool labelled_field(const PanelContext& context, const char* label, const char* id, std::string& text, const char* hint,
                    std::string_view fault = {}) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    draw_text_in(*ImGui::GetWindowDrawList(), context.theme.fonts.label, at, {at.x + context.px(kFieldLabel), at.y + context.px(30)},
                 {0, 0.5F}, context.theme.colors.muted, label);
    ImGui::SetCursorScreenPos({at.x + context.px(kFieldLabel), at.y});
    const bool entered = text_field(context.ui(), id, text, hint, -1, {.error = fault});
    gap(context.ui(), 6);
    return entered;
}

/// Closes the sheet once the step is made. Until then it stays, so that nothing typed is lost to an error.
void follow_step(PanelContext& context) {
    LessonStepDraft& draft = context.view.files.lesson_step;
    if (!draft.sent) return;
    if (context.files.lesson_steps != *draft.sent) {
        draft = {};
        context.view.files.task = FileTask::None;
    } else if (context.files.failed && !context.files.busy) {
        draft.sent.reset();
        draft.focus = LessonStepDraft::Field::Sentence;
    }
}

void make_step(PanelContext& context) {
    FileView& view = context.view.files;
    view.lesson_step.sent = context.files.lesson_steps;
    context.commands.push_back(
        {command::MakeLessonStep{without_tilde(view.path.text), view.lesson_step.title, view.lesson_step.caption, shown_look(context.view)},
         ""});
}

/// Of an earlier draft, what the user typed stays; the rest was about another place.
void propose_words(const PanelContext& context, LessonStepDraft& draft) {
    const bool own_title = !draft.title.empty() && draft.title != draft.proposed_title;
    const bool own_caption = draft.caption != draft.proposed_caption;
    draft.proposed_title = usual_title(context);
    draft.proposed_caption = usual_caption(context);
    if (!own_title) draft.title = draft.proposed_title;
    if (!own_caption) draft.caption = draft.proposed_caption;
    draft.focus = LessonStepDraft::Field::Title;
}

}  // namespace

void begin_lesson_step(PanelContext& context) {
    FileView& view = context.view.files;
    const std::filesystem::path& made = context.files.made_lesson_file;
    begin_path_sheet(context, FileTask::LessonStep, made.empty() ? "my-lesson.json" : made.string());
    view.path.focus = false;
    view.previewed.clear();
    LessonStepDraft& draft = view.lesson_step;
    // The sheet may have been closed while its step was being made.
    if (draft.sent && context.files.lesson_steps != *draft.sent) draft = {};
    draft.sent.reset();
    if (context.ready()) propose_words(context, draft);
}

void draw_lesson_step_sheet(PanelContext& context) {
    follow_step(context);
    FileView& view = context.view.files;
    if (view.task != FileTask::LessonStep) return;
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    LessonStepDraft& draft = view.lesson_step;
    bool stays = begin_sheet(context, "##lesson_step_sheet", 640);
    text_line(ui, fonts.heading, colors.text, "Make a lesson step");
    gap(ui, 2);
    paragraph(ui, fonts.label, colors.muted,
              "What is shown now becomes a step. In the sentence, braces quote numbers: {weights[0,0,8,6]}, {token[6]}.");
    gap(ui, 8);
    const LessonStepDraft::Field focus = std::exchange(draft.focus, LessonStepDraft::Field::None);
    if (focus == LessonStepDraft::Field::Title) focus_next_field();
    bool entered = labelled_field(context, "Title", "##step_title", draft.title, "of this step");
    const std::string fault = fault_of_caption(draft.caption);
    if (focus == LessonStepDraft::Field::Sentence) focus_next_field();
    entered |= labelled_field(context, "Sentence", "##step_caption", draft.caption, "what to see here", fault);
    if (fault.empty()) text_line(ui, fonts.label, colors.muted, " ");  // so that nothing moves
    entered |= labelled_field(context, "Lesson", "##step_file", view.path.text, "a file ending in .json");
    const LessonFile file = judge_file(context, preview_of_lesson(context));
    text_line(ui, fonts.label, file.good ? colors.muted : colors.chosen_text,
              elide(fonts.label, file.words, ImGui::GetContentRegionAvail().x));
    gap(ui, 8);
    const std::string_view not_yet = draft.title.empty()          ? "A step needs a title."
                                     : file.good && fault.empty() ? ""
                                                                  : "The line above says why.";
    if (button(ui, "Make the step##do", {.look = ButtonLook::Accent, .width = 140, .notes = {.tooltip = "Enter", .disabled = not_yet}}))
        entered = true;
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Cancel", {.width = 100, .notes = {.tooltip = "Esc"}})) stays = false;
    if (entered && not_yet.empty() && !draft.sent) make_step(context);
    else if (entered && !fault.empty()) draft.focus = LessonStepDraft::Field::Sentence;
    if (!stays || key_pressed(Key::Escape, false)) view.task = FileTask::None;
    end_sheet(context);
}

}  // namespace attn::app
