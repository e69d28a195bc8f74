/// attnscope lesson: opens the window with a lesson, writes one as a page, or lists the lessons.

#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "app/cli/commands.hpp"
#include "app/cli/lesson_options.hpp"
#include "app/cli/window.hpp"
#include "app/session/lesson_page.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

struct LessonOptions {
    std::string lesson;
    std::int64_t step = 1;
    bool list = false;
    std::filesystem::path html;
};

void print_list() {
    std::size_t widest = 0;
    for (const auto& lesson : lessons()) widest = std::max(widest, lesson->name.size());
    for (const auto& lesson : lessons()) fmt::print("{:{}}  {:2} steps  {}\n", lesson->name, widest, lesson->steps.size(), lesson->summary);
}

std::string check_page_name(const std::string& name) {
    return std::filesystem::path(name).extension() == ".html" ? "" : "'" + name + "' does not end in .html";
}

int open(const LessonOptions& options) {
    if (options.list) {
        print_list();
        return kExitOk;
    }
    if (options.lesson.empty()) throw Error("expected the name of a lesson; attnscope lesson --list lists them");
    WindowStart start;
    start.lesson = find_lesson(options.lesson);
    if (!options.html.empty()) {
        write_lesson_page(options.html, *start.lesson);
        const std::size_t count = start.lesson->steps.size();
        fmt::print("{}: {}, {} {}\n", escaped(options.html.native(), 0), escaped(start.lesson->title, 0), count,
                   count == 1 ? "step" : "steps");
        return kExitOk;
    }
    start.lesson_step = lesson_step_index(*start.lesson, options.step);
    return open_window(start);
}

}  // namespace

std::size_t lesson_step_index(const Lesson& lesson, std::int64_t step) {
    if (step < 1 || step > static_cast<std::int64_t>(lesson.steps.size()))
        throw Error(fmt::format("there is no step {}: the lesson {} has steps 1 to {}", step, lesson.name, lesson.steps.size()));
    return static_cast<std::size_t>(step - 1);
}

void add_lesson_command(CliCommand program, int& exit_code) {
    auto options = std::make_shared<LessonOptions>();
    CliCommand command = program.command("lesson", "Open the window on a lesson");
    command.option("lesson", options->lesson, "Name of a lesson, or a lesson file of your own")
        .is_path()
        .shown_as("NAME|FILE")
        .suggest(lesson_names());
    command.option("--step", options->step, "The step to start with, from 1").shown_as("N");
    command.option("--html", options->html, "Write the lesson as one HTML page with its pictures, instead of opening the window")
        .shown_as("FILE")
        .check(check_page_name);
    command.flag("--list", options->list, "List the lessons");
    command.footer("In the lesson: → and ← or Page Down and Page Up go through the steps, Backspace resets one, Esc leaves.\n");
    command.on_run([options, &exit_code] { exit_code = open(*options); });
}

}  // namespace attn::app
