#include "app/panels/files/desktop_sheet.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/folder_view.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

DesktopFilter filter_by_endings(std::string name, std::span<const std::string_view> endings) {
    DesktopFilter filter{std::move(name), {}};
    for (const std::string_view ending : endings) filter.patterns.push_back("*" + std::string(ending));
    return filter;
}

/// In the order of FileFilter. Desktop dialogs cannot filter by exclusion, so texts are matched by their endings.
std::vector<DesktopFilter> filters_to_open(FileTask task) {
    if (task == FileTask::Beside || task == FileTask::Model) return {filter_by_endings("Models", endings_of(FileFilter::Models))};
    if (task == FileTask::Tokenizer) return {};
    return {{"All files", {"*"}},
            filter_by_endings("Models and runs", endings_of(FileFilter::Models)),
            filter_by_endings("Documents and lessons", endings_of(FileFilter::Documents)),
            filter_by_endings("Tensors", endings_of(FileFilter::Tensors)),
            {"Texts", {"*.txt", "*.md"}}};
}

std::vector<DesktopFilter> filters_to_save(FileTask task) {
    if (task == FileTask::Save) return {{"Documents", {"*.attnscope.json"}}};
    if (task == FileTask::SaveRun) return {{"Training runs", {"*.safetensors"}}};
    return {};
}

}  // namespace

void ask_desktop(PanelContext& context, DesktopQuestion::What what) {
    FileView& view = context.view.files;
    const std::string folder = without_tilde(folder_part(view.path.text));
    DesktopQuestion question{.what = what, .title = "Open", .accept = "Open", .folder = folder.starts_with('/') ? folder : "", .name = ""};
    switch (what) {
    case DesktopQuestion::What::OpenFile:
        question.filters = filters_to_open(view.task);
        if (view.task == FileTask::Open) question.filter = static_cast<std::size_t>(view.filter);
        break;
    case DesktopQuestion::What::OpenFolder:
        question.title = "Open the folder of a model or a training run";
        break;
    case DesktopQuestion::What::SaveFile:
        question.title = view.task == FileTask::Export ? "Export" : view.task == FileTask::SaveRun ? "Save the training run" : "Save";
        question.accept = view.task == FileTask::Export ? "Choose" : "Save";
        question.name = view.path.text.substr(folder_part(view.path.text).size());
        question.filters = filters_to_save(view.task);
        break;
    }
    forget_desktop(view);
    view.desktop.waiting = true;
    view.desktop.question = std::move(question);
    stop_typing();
}

void forget_desktop(FileView& view) {
    view.desktop.waiting = false;
    view.desktop.question.reset();
    view.desktop.answer.reset();
    view.desktop.problem.clear();
}

void draw_sheet_heading(PanelContext& context, std::string_view title, DesktopQuestion::What what) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const DesktopDialog& desktop = context.view.files.desktop;
    text_line(ui, fonts.heading, colors.text, title);
    if (desktop.there && context.abilities.lists_files) {
        constexpr const char* kLink = "Desktop's dialog";
        ImGui::SameLine(ImGui::GetWindowWidth() - ImGui::GetStyle().WindowPadding.x - text_width(fonts.label, kLink) - context.px(30));
        if (link(ui, kLink, "Opens the desktop's own file dialog. The File menu sets which dialog comes first."))
            ask_desktop(context, what);
    }
    if (!desktop.problem.empty()) text_line(ui, fonts.label, colors.chosen_text, desktop.problem);
}

void draw_desktop_sheet(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    FileView& view = context.view.files;
    begin_modal_sheet(context, "##desktop_sheet", 460);
    text_line(ui, fonts.heading, colors.text, fmt::format("In the {}", context.abilities.dialog));
    gap(ui, 4);
    paragraph(ui, fonts.body, colors.muted, "Choose a file there. The dialog may be behind this window.");
    gap(ui, 8);
    if (context.abilities.lists_files) {
        if (button(ui, "Use attnscope's own", {.notes = {.tooltip = "Closes the desktop's dialog and returns to this one."}})) {
            forget_desktop(view);
            view.path.focus = true;
        }
        ImGui::SameLine(0, context.px(8));
    }
    if (button(ui, "Cancel", {.width = 100, .notes = {.tooltip = "Esc"}}) || key_pressed(Key::Escape, false)) {
        forget_desktop(view);
        view.task = FileTask::None;
    }
    end_sheet(context);
}

std::optional<std::filesystem::path> take_desktop_path(PanelContext& context) {
    FileView& view = context.view.files;
    if (!view.desktop.waiting || !view.desktop.answer) return std::nullopt;
    const DesktopAnswer answer = *std::exchange(view.desktop.answer, {});
    forget_desktop(view);
    switch (answer.outcome) {
    case DesktopAnswer::Outcome::Chosen:
        return answer.path;
    case DesktopAnswer::Outcome::Cancelled:
        // If the desktop's dialog was opened from our sheet, return to it.
        if (view.desktop.preferred || !context.abilities.lists_files) view.task = FileTask::None;
        view.path.focus = true;
        break;
    case DesktopAnswer::Outcome::Failed:
        view.desktop.problem = "The desktop's dialog could not be used: " + answer.problem + ".";
        view.path.focus = true;
        break;
    }
    return std::nullopt;
}

}  // namespace attn::app
