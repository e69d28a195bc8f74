#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/help_pages.hpp"
#include "app/panels/lessons/lesson_player.hpp"
#include "app/session/lessons/lesson.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/text.hpp"

namespace attn::app {
namespace {

constexpr std::string_view kModule = "attnscope.py", kExample = "my_attention.py", kLesson = "your-own-attention";

/// A way to record, and what it does.
struct Way {
    std::string_view name, lines, note;
};
constexpr std::array<Way, 3> kWays = {
    {{"around a call", "import attnscope\nwith attnscope.record(\"run.attn\", tokens=[\"the\", \"cat\", \"sat\"]):\n    model(x)",
      "Every attention that runs inside is recorded, whoever wrote it. Your code, its results and its random numbers stay as they are."},
     {"in a training loop",
      "run = attnscope.watch(model, \"run.attn\", every=50)   # before the loop\nrun.step(loss=loss, lr=lr)"
      "                          # after each step\nrun.text(sample)"
      "                                    # if you like",
      "The first step and then every 50th are recorded; numbers and texts that you log become curves and samples here."},
     {"single tensors", "import attnscope\nattnscope.show(q=q, k=k, scores=scores, weights=weights)\nattnscope.show(anything=matrix)",
      "Opens a window with these; each further call is a step in it. Arrays of NumPy, PyTorch or JAX, and lists."}}};

void copy(PanelContext& context, std::string_view lines) {
    ImGui::SetClipboardText(std::string(lines).c_str());
    context.commands.push_back(
        {command::TellFile{fmt::format("Copied {} lines.", 1 + std::count(lines.begin(), lines.end(), '\n')), false, NoticeOf::View}, ""});
}

/// The lines of code on a ground of their own.
void draw_lines(const PanelContext& context, std::string_view lines) {
    const auto& [colors, fonts, scale] = context.theme;
    const float line = font_size(fonts.mono) + context.px(6), pad = context.px(12);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    const auto count = static_cast<float>(1 + std::count(lines.begin(), lines.end(), '\n'));
    const float height = count * line + 2 * pad - context.px(6);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {at.x + width, at.y + height}, colors.raised, context.px(8));
    float y = at.y + pad;
    while (true) {
        const std::size_t end = lines.find('\n');
        draw_text(list, fonts.mono, {at.x + pad, y}, colors.text, lines.substr(0, end));
        if (end == std::string_view::npos) break;
        lines.remove_prefix(end + 1);
        y += line;
    }
    ImGui::Dummy({width, height});
}

void begin_saving(PanelContext& context, std::string_view file) {
    begin_path_sheet(context, FileTask::SavePython, std::string(file));
    context.view.files.python = file;
}

void draw_step(const PanelContext& context, std::string_view title, std::string_view words) {
    const auto& [colors, fonts, scale] = context.theme;
    gap(context.ui(), 6);
    text_line(context.ui(), fonts.strong, colors.text, title);
    paragraph(context.ui(), fonts.label, colors.muted, words);
    gap(context.ui(), 2);
}

void draw_module(PanelContext& context) {
    const Ui ui = context.ui();
    draw_step(
        context, "1   attnscope.py beside your code",
        "A package of attnscope has installed it as a module already. Otherwise save it here, or type attnscope python > attnscope.py.");
    if (button(ui, "Save attnscope.py…", {.notes = {.tooltip = "One file; it needs NumPy, and PyTorch where that is recorded."}}))
        begin_saving(context, kModule);
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Save an example…",
               {.notes = {.tooltip = "my_attention.py: an attention written by hand, with a mistake to be found."}}))
        begin_saving(context, kExample);
}

void draw_ways(PanelContext& context) {
    const Ui ui = context.ui();
    FileView& view = context.view.files;
    draw_step(context, "2   These lines in your code", kWays[static_cast<std::size_t>(view.own_code)].note);
    std::array<std::string_view, kWays.size()> names;
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kWays[i].name;
    segmented(ui, "##ways", names, view.own_code);
    const std::string_view lines = kWays[static_cast<std::size_t>(view.own_code)].lines;
    draw_lines(context, lines);
    gap(ui, 2);
    if (button(ui, "Copy", {.look = ButtonLook::Accent, .width = 100, .notes = {.tooltip = "Copies these lines."}})) copy(context, lines);
}

void draw_opening(PanelContext& context) {
    draw_step(
        context, "3   Open the folder run.attn",
        "With the button below, by dropping it on this window, or with attnscope run.attn. You can open it as soon as it holds a step: "
        "while your code runs, each further step is shown within a second, until you go back to an earlier one.");
}

void open_lesson_about_it(PanelContext& context) {
    for (const auto& lesson : lessons())
        if (lesson->name == kLesson) open_lesson(context.view, context.document, lesson);
}

}  // namespace

void begin_own_code(PanelContext& context) {
    context.view.files.task = FileTask::OwnCode;
    context.commands.push_back({command::EndNotice{}, ""});
}

void draw_own_code_sheet(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    FileView& view = context.view.files;
    bool stays = begin_sheet(context, "##own_code_sheet", 640);
    text_line(ui, fonts.heading, colors.text, "Record your own code");
    draw_module(context);
    draw_ways(context);
    draw_opening(context);
    if (view.task == FileTask::OwnCode &&
        button(ui, "Open the folder…", {.notes = {.tooltip = "Chooses the folder that your code wrote."}}))
        begin_open(context);
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Close", {.width = 100, .notes = {.tooltip = "Esc"}})) stays = false;
    ImGui::SameLine(0, context.px(16));
    const float baseline = ImGui::GetCursorPosY() + context.px(7);
    ImGui::SetCursorPosY(baseline);
    if (link(ui, "Lesson: your own attention", "Five minutes with what the example recorded.")) {
        stays = false;
        open_lesson_about_it(context);
    }
    ImGui::SameLine(0, context.px(16));
    ImGui::SetCursorPosY(baseline);
    if (link(ui, "Help", "What is recorded, and what is not.")) {
        stays = false;
        open_help_page(context.view, "The doctor");
    }
    if ((!stays || key_pressed(Key::Escape, false)) && view.task == FileTask::OwnCode) view.task = FileTask::None;
    end_sheet(context);
}

}  // namespace attn::app
