/// attnscope render: renders the interface to a picture.

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <functional>
#include <memory>

#include "app/application.hpp"
#include "app/cli/commands.hpp"
#include "app/cli/document_options.hpp"
#include "app/cli/lesson_options.hpp"
#include "app/cli/token_options.hpp"
#include "app/cli/training_options.hpp"
#include "app/cli/view_options.hpp"
#include "app/panels/views/knock_out_parts.hpp"
#include "app/platform/offscreen.hpp"
#include "app/session/document/presets.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/lessons/lesson_goal.hpp"
#include "app/session/play_step.hpp"
#include "app/session/values/other_tokens.hpp"
#include "app/session/values/weights_beside.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/io/file_error.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

constexpr int kSmallestSide = 200;
constexpr double kSmallestScale = 0.5, kLargestScale = 4;

struct RenderOptions {
    DocumentOptions document;
    ViewOptions view;
    TrainingOptions training;
    std::filesystem::path dump;
    std::string lesson;
    std::optional<std::int64_t> answer;
    std::filesystem::path out;
    std::string size = "1600x1000";
    double scale = 1;
    bool centre = false, check = false;
};

/// "1600x1000" -> {1600, 1000}; none for anything else.
std::optional<std::array<int, 2>> parse_size(const std::string& text) {
    std::array<int, 2> size{};
    const char* const end = text.data() + text.size();
    const auto width = std::from_chars(text.data(), end, size[0]);
    if (width.ec != std::errc() || width.ptr == end || *width.ptr != 'x') return std::nullopt;
    const auto height = std::from_chars(width.ptr + 1, end, size[1]);
    if (height.ec != std::errc() || height.ptr != end) return std::nullopt;
    for (const int side : size)
        if (side < kSmallestSide || side > kMaxImageSide) return std::nullopt;
    return size;
}

std::string check_size(const std::string& text) {
    if (parse_size(text)) return "";
    return fmt::format("'{}' is not WIDTHxHEIGHT with sides of {} to {} pixels", text, kSmallestSide, kMaxImageSide);
}

std::string check_output_path(const std::string& name) {
    const std::string extension = std::filesystem::path(name).extension().string();
    const bool fits = extension == ".png" || extension == ".svg" || extension == ".csv" || extension == ".npy";
    return fits ? "" : "'" + name + "' does not end in .png, .svg, .csv or .npy";
}

/// Also rejects NaN, which a plain range check would accept.
std::string check_scale(const std::string& text) {
    double scale = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
    if (error == std::errc() && rest == text.data() + text.size() && scale >= kSmallestScale && scale <= kLargestScale) return "";
    return fmt::format("'{}' is not a number from {} to {}", text, kSmallestScale, kLargestScale);
}

/// One line: the file, its size and what it shows.
std::string summary(const RenderOptions& options, const ViewState& view, const Snapshot& snapshot, const std::string& preset) {
    const std::array<int, 2> size = parse_size(options.size).value();
    std::string what = fmt::format("{}: {} x {} pixels, ", options.out.string(), size[0], size[1]);
    if (snapshot.trained_step) what += fmt::format("model of step {}", *snapshot.trained_step);
    else if (const auto& model = snapshot.state->setup->model) what += "model " + escaped(model->name(), 0);
    else if (const RecordedNumbers* recorded = recorded_in(*snapshot.state))
        what += fmt::format("step {} of {}", recorded->step, escaped(recorded->recording->name(), 0));
    else what += preset.empty() ? "own model" : "example " + preset;
    what += fmt::format(", {} tokens, ", snapshot.trace->tokens.length);
    switch (view.view) {
    case View::Step:
        return what + fmt::format("stage {}, head {}\n", tensor_name(view.stage), view.head);
    case View::Heads:
        return what + fmt::format("{} of all heads of layer {}\n", stage_name({view.heads.stage}), view.stage.layer);
    case View::Grid:
        return what + fmt::format("{} of all heads of all layers\n", stage_name({view.heads.stage}));
    case View::Lines:
        return what + (view.lines.all_layers ? std::string("lines of all layers\n") : fmt::format("lines of layer {}\n", view.stage.layer));
    case View::Totals:
        return what + (view.totals.rollout ? "attention rollout" : "mean attention") +
               (view.totals.up_to ? fmt::format(" of layers 0 to {}\n", *view.totals.up_to) : "\n");
    case View::Lens:
        return what + "logit lens\n";
    case View::KnockOut:
        if (view.knock_out.from)
            return what + fmt::format("{}{} replaced by text {}'s\n", menu_name(view.knock_out.parts),
                                      at_positions(view.knock_out.parts) ? ", position by position," : "", *view.knock_out.from + 1);
        return what + fmt::format("what each {} is worth\n", view.knock_out.parts == ReplacedParts::Heads ? "head" : "block");
    case View::Write:
        return what + "the model's continuation\n";
    case View::Precision:
        return what + "weights compared with another file's\n";
    case View::Train:
        return what + "training\n";
    case View::Doctor:
        return what + "the doctor's report\n";
    }
    return what;
}

void expect_answer(const Lesson& lesson, std::size_t step, std::int64_t answer) {
    const auto& question = lesson.steps[step].question;
    if (!question) throw Error(fmt::format("--answer: step {} of the lesson {} has no question", step + 1, lesson.name));
    const auto count = static_cast<std::int64_t>(question->answers.size());
    if (answer < 1 || answer > count) throw Error(fmt::format("--answer: the question of step {} has answers 1 to {}", step + 1, count));
}

/// Brings the session to the requested state and waits until it is computed and checked.
std::shared_ptr<const Snapshot> prepare(const RenderOptions& options, Application& application) {
    std::shared_ptr<const Lesson> lesson;
    std::size_t step = 0;
    if (!options.lesson.empty()) {
        if (options.training.given() || options.document.given()) throw Error("--lesson has its own example, text and training run");
        lesson = find_lesson(options.lesson);
        step = lesson_step_index(*lesson, options.training.step.value_or(1));
        if (options.answer) expect_answer(*lesson, step, *options.answer);
        const bool asks = lesson->steps[step].question && !options.answer;
        play_step(application.session(), lesson->steps[asks ? step - 1 : step]);
        const std::string missing = missing_moment(lesson->steps[step], *application.session().training().status);
        if (!missing.empty()) throw Error(fmt::format("{}, step {}: {}", options.lesson, step + 1, missing));
    }
    if (lesson == nullptr) prepare_training(application.session(), options.training, options.document);
    if (options.view.compare_step) {
        if (!application.session().document().trained) throw Error("--compare-step needs a training run: --task or --run");
        application.session().apply({command::CompareMoment{kept_step(application.session(), *options.view.compare_step)}, ""});
    }
    if (options.view.compare == "pinned" && !application.session().document().pins.a)
        throw Error("--compare pinned: no state is pinned; give a --document that has one");
    if (!options.dump.empty()) {
        application.session().apply({command::OpenDump{options.dump}, ""});
        if (const std::string problem = application.session().wait_for_dump(); !problem.empty()) throw Error(problem);
    }
    std::shared_ptr<const Snapshot> snapshot = application.session().wait();
    if (!snapshot->problem.empty()) throw Error(snapshot->problem);
    expect_edits_to_apply(options.document, *snapshot->trace);
    tell_idle_mistake(*snapshot->trace);
    if (lesson == nullptr) {
        application.view() = make_view(options.view, *snapshot->trace, opening_look(application.session().document()),
                                       application.session().document().look.has_value());
        choose_tokens(options.view, *snapshot, application.view());
    } else {
        application.view().dark = options.view.theme == "dark";
        application.open_lesson(lesson, step, options.answer ? std::optional<std::size_t>(*options.answer - 1) : std::nullopt);
    }
    return snapshot;
}

/// Throws what is wrong with the file of --beside, of which there would be no picture.
void expect_beside(Session& session, const ViewState& view) {
    std::string problem;
    if (view.view == View::Precision) {
        const PrecisionView& precision = view.precision;
        if (session.document().model == nullptr) throw Error("--view precision compares the weights of a published model: give --model");
        problem = session.compute(nullptr, facet::WeightsBeside{session.document().model, precision.other, precision.opening}).problem;
    } else {
        const TokenPathState& path = view.token_path;
        problem = session.compute(facet::OtherTokens{view.shown_text(), path.other, path.opening}).problem;
    }
    if (!problem.empty()) throw Error(problem);
}

bool writes_numbers(const std::filesystem::path& out) { return out.extension() == ".csv" || out.extension() == ".npy"; }

/// Of the view that `draw` shows.
void write_numbers(const std::filesystem::path& out, Application& application, const std::function<void()>& draw) {
    application.read_numbers();
    draw();
    const auto& [table, missing] = application.numbers();
    if (table == nullptr) throw Error(missing);
    write_table(out, *table);
    fmt::print("{}: {} rows of {} numbers\n", out.string(), table->rows, table->columns);
}

void render(const RenderOptions& options) {
    const std::array<int, 2> size = parse_size(options.size).value();
    Application application(
        make_document(options.document), [] {}, memory_budget_mib(options.document));
    const std::shared_ptr<const Snapshot> snapshot = prepare(options, application);
    application.wait_for_what_is_shown(options.check);
    if (!options.view.beside.empty()) expect_beside(application.session(), application.view());

    OffscreenOptions picture;
    picture.width = size[0];
    picture.height = size[1];
    picture.scale = static_cast<float>(options.scale);
    picture.dark = application.view().dark;
    const DrawUi draw = [&](Frame& frame) { application.draw(frame); };
    application.view().panes.only_centre = options.centre;
    application.take_whole_window();
    if (writes_numbers(options.out)) return write_numbers(options.out, application, [&] { render_offscreen(picture, draw); });
    if (options.out.extension() == ".svg") write_whole_file(options.out, render_svg(picture, draw));
    else write_png(options.out, render_offscreen(picture, draw));
    fmt::print("{}", summary(options, application.view(), *snapshot, application.session().document().preset));
}

}  // namespace

void add_render_command(CliCommand program, int&) {
    auto options = std::make_shared<RenderOptions>();
    CliCommand command = program.command("render", "Draw the interface into a picture");
    add_document_options(command, options->document);
    add_memory_option(command, options->document);
    add_view_options(command, options->view);
    add_training_options(command, options->training);
    const Argument lesson =
        command.option("--lesson", options->lesson, "Draw a step of this lesson or lesson file; --step N says which, from 1")
            .is_path()
            .shown_as("NAME|FILE");
    command.option("--answer", options->answer, "Answer the step's question with this one, from 1, and show what is true")
        .shown_as("N")
        .needs(lesson);
    command.option("--dump", options->dump, "Draw the doctor's report on this file, with --view doctor").shown_as("FILE");
    command
        .option("--out", options->out,
                "File to write: .png; .svg with text as text and cells as rectangles; or .csv or .npy with the numbers of the view")
        .shown_as("FILE")
        .required()
        .check(check_output_path);
    command.flag("--centre", options->centre, "Only the picture in the centre");
    command.flag("--check", options->check,
                 "Wait until what is shown has been checked, however long it takes; otherwise a large model may be drawn unchecked");
    command.option("--size", options->size, "Pixels of the picture, 1600x1000 by default").shown_as("WxH").check(check_size);
    command.option("--scale", options->scale, "Scale of everything in it, as on a display with that scale")
        .shown_as("FACTOR")
        .check(check_scale);
    command.on_run([options] { render(*options); });
}

}  // namespace attn::app
