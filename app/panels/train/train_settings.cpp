#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>

#include "app/panels/files/files.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/panels/kit/pane.hpp"
#include "app/panels/kit/part_words.hpp"
#include "app/panels/kit/scrolled.hpp"
#include "app/panels/kit/section.hpp"
#include "app/panels/kit/train_words.hpp"
#include "app/panels/settings/mistakes.hpp"
#include "app/panels/settings/model_settings.hpp"
#include "app/panels/settings/setting_values.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/item.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/slider.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/text_field.hpp"

namespace attn::app {
namespace {

constexpr std::string_view kPairIsUnderWay = "Both runs of the pair share these settings: change them when the pair has ended.";

/// The settings shown by the sliders for a run's course: the document's or, while they are locked by a pair of runs, those in effect.
const RunSettings& course(const PanelContext& context) {
    return pair_is_under_way(context) ? context.training.status->settings : context.document.run;
}

SliderOptions held_back(const PanelContext& context, SliderOptions options) {
    if (pair_is_under_way(context)) options.notes.disabled = kPairIsUnderWay;
    return options;
}

/// A slider for a number of the run settings; `set` writes it.
template <class Set>
void run_slider(PanelContext& context, const char* label, double value, const SliderOptions& options, const Set& set) {
    const Edited edited = slider_row(context.ui(), label, value, options);
    if (edited) {
        RunSettings run = context.document.run;
        set(run, value);
        emit_run(context, std::move(run), label);
    }
    close_gesture(context, edited);
}

template <class Set>
void count_slider(PanelContext& context, const char* label, std::int64_t value, SliderOptions options, const Set& set) {
    options.decimals = 0;
    if (options.step <= 0) options.step = 1;
    if (value == 0 && options.shown.empty()) options.shown = "off";
    run_slider(context, label, static_cast<double>(value), options,
               [&](RunSettings& run, double chosen) { set(run, static_cast<std::int64_t>(chosen + 0.5)); });
}

/// Whether the next run begins with the opened model or another one, not with random numbers.
bool trains_further(const PanelContext& context) { return !context.document.run.from.empty(); }

/// A section with a separator above, since the previous section may be collapsed.
bool run_section(PanelContext& context, const char* name, const char* title, const std::string& value, std::string_view about) {
    separator(context.ui());
    return open_section(context, name, title, value, about);
}

/// Controls for the tokenizer of a text.
void draw_text_tokens(PanelContext& context) {
    const Ui ui = context.ui();
    const TaskSettings& task = context.document.run.task;
    static constexpr std::array<std::string_view, 2> kNames = {"characters", "pieces (BPE)"};
    int chosen = task.tokenizer == TokenizerKind::Bpe ? 1 : 0;
    gap(ui, 6);
    if (segmented(
            ui, "##text_tokens", kNames, chosen, 0,
            {.tooltip = "What the model reads and writes: single characters, or pieces that byte-pair encoding learns from the text."})) {
        RunSettings run = context.document.run;
        run.task.tokenizer = chosen == 1 ? TokenizerKind::Bpe : TokenizerKind::Character;
        emit_run(context, std::move(run), "");
    }
    if (task.tokenizer != TokenizerKind::Bpe) return;
    count_slider(context, "vocabulary", task.vocab,
                 {.min = 256, .max = 16384, .log = true, .notes = {.tooltip = "Pieces at most, the 256 bytes included."}},
                 [](RunSettings& r, std::int64_t v) { r.task.vocab = v; });
}

void draw_text_choice(PanelContext& context) {
    const Ui ui = context.ui();
    const TaskSettings& task = context.document.run.task;
    TrainView& train = context.view.train;
    gap(ui, 6);
    constexpr float kLoad = 56;
    const float room = ImGui::GetContentRegionAvail().x / context.theme.scale;
    const bool entered = text_field(ui, "##text_path", train.text_path, "path of a text file", room - kLoad - kBrowseButton - 12,
                                    {.tooltip = "A text of your own, in UTF-8; nine tenths are trained on, the rest is held out."});
    ImGui::SameLine(0, context.px(6));
    draw_browse_button(context, "…##text", FileTask::TrainingText, train.text_path);
    ImGui::SameLine(0, context.px(6));
    const bool pressed = button(ui, "Load", {.width = kLoad, .notes = {.tooltip = "Reads the file; the next run trains on it."}});
    if ((entered || pressed) && !train.text_path.empty()) load_training_text(context, train.text_path);
    if (!trains_further(context)) draw_text_tokens(context);
    if (task.text == nullptr) return;
    const std::string size = fmt::format("{} bytes", format_count(static_cast<std::int64_t>(task.text->size())));
    value_row(ui, task.text_name, size, "The text of the next run.");
    if (!link(ui, "use the sample text instead", "A text written for this program, which needs no file.")) return;
    RunSettings run = context.document.run;
    run.task.text = nullptr;
    run.task.text_name.clear();
    emit_run(context, std::move(run), "");
}

/// With sequences that the model can read.
RunSettings made_to_fit(RunSettings run) {
    if (run.from.empty()) return run;
    TaskSettings& task = run.task;
    task.tokenizer = TokenizerKind::Character;
    task.length = std::min(task.length, longest_length(task.kind, run.model.longest_text()));
    task.shortest = std::min(task.shortest, task.length);
    return run;
}

/// Random weights, those of the model that is shown, or of the one that was chosen before.
void draw_beginning(PanelContext& context) {
    const RunSettings& run = context.document.run;
    const ModelRef& shown = context.document.model;
    if (shown == nullptr && run.from.empty()) return;
    const std::string path = shown == nullptr ? run.from : std::filesystem::absolute(shown->path()).string();
    const bool other = !run.from.empty() && run.from != path;
    const std::string name = shown == nullptr ? name_of_start(run) : visible_text(shown->name()), name_of_other = name_of_start(run);
    const std::array<std::string_view, 3> names = {"random numbers", name, name_of_other};
    int chosen = run.from.empty() ? 0 : other ? 2 : 1;
    gap(context.ui(), 8);
    section_heading(context.ui(), "Begin with");
    if (!segmented(
            context.ui(), "begin with", std::span(names).first(other ? 3 : 2), chosen, 0,
            {.tooltip = "The weights before the first step: drawn at random, or those of the opened model, which is trained further."}))
        return;
    if (chosen == 2) return;
    RunSettings next = run;
    next.from = chosen == 1 ? path : "";
    next.model = chosen == 1 && shown != nullptr ? context.document.config : default_run(run.task.kind).model;
    emit_run(context, made_to_fit(std::move(next)), "");
}

void choose_task(PanelContext& context, TaskKind kind) {
    RunSettings next = default_run(kind);
    if (trains_further(context)) {
        next.from = context.document.run.from;
        next.model = context.document.run.model;
    }
    emit_run(context, made_to_fit(std::move(next)), "");
}

void draw_task(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const TaskSettings& task = context.document.run.task;
    const TaskInfo& info = task_info(task.kind);
    section_heading(ui, "Task");
    if (begin_menu_button(ui, "##task", info.title, -1, {.tooltip = "What the model has to learn."})) {
        for (const TaskInfo& other : tasks())
            if (menu_item(ui, other.title, other.kind == task.kind, other.explanation) && other.kind != task.kind)
                choose_task(context, other.kind);
        end_menu_button();
    }
    gap(ui, 6);
    paragraph(ui, fonts.label, colors.muted, info.explanation);
    if (task.kind == TaskKind::Text) draw_text_choice(context);
    draw_beginning(context);
    gap(ui, 8);
}

/// Draws the buttons for start or pause, single step and reset.
void draw_transport(PanelContext& context) {
    const Ui ui = context.ui();
    const TransportWords words = transport_words(context);
    const float width = ImGui::GetContentRegionAvail().x / context.theme.scale;
    const std::string label = std::string(words.label) + "##start";
    if (button(ui, label.c_str(),
               {.look = ButtonLook::Accent,
                .width = width - 2 * 44,
                .height = 36,
                .icon = width < 200  ? Icon::None
                        : words.runs ? Icon::Pause
                                     : Icon::Play,  // the text is more useful than an icon
                .notes = {.tooltip = words.tooltip}}))
        toggle_training(context);
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "+1", {.width = 36, .height = 36, .notes = {.tooltip = "One step, then a pause (+)"}}))
        context.commands.push_back({command::StepTraining{}, ""});
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "##reset",
               {.width = 36,
                .height = 36,
                .icon = Icon::Reset,
                .notes = {.tooltip = "A new run, paused at step 0. The curves of this one stay for comparison."}}))
        context.commands.push_back({command::ResetTraining{}, ""});
}

/// Below the main button: which changes need a new run, and how the run can go on without them.
void draw_pending(PanelContext& context) {
    const std::vector<std::string> changes = needs_new_run(context);
    if (changes.empty()) return;
    const Ui ui = context.ui();
    gap(ui, 6);
    paragraph(ui, context.theme.fonts.caption, context.theme.colors.chosen_text, fmt::format("needs it: {}", fmt::join(changes, ", ")));
    if (!link(ui, "keep this run", "Puts back the run's task and model.")) return;
    RunSettings run = context.training.status->settings;
    run.stop = context.document.run.stop;
    emit_run(context, std::move(run), "");
}

/// Why this step of the current run does not have the rate of the slider.
std::string_view reason_of_rate(const PanelContext& context, std::int64_t step) {
    const Schedule& schedule = context.training.status->settings.train.schedule;
    if (schedule.rate != course(context).train.schedule.rate) return "the run has a rate of its own";
    const RunSettings& then = settings_of_step(context.training.runs.back(), step);
    if (then.train.schedule.rate != schedule.rate) return "set otherwise then";
    if (step <= schedule.warm_up_steps) return "warm-up";
    if (schedule.kind == ScheduleKind::Constant) return "set otherwise then";
    return schedule.kind == ScheduleKind::Linear ? "linear schedule" : "cosine schedule";
}

void draw_optimizer(PanelContext& context) {
    if (!run_section(context, "run optimizer", "Optimizer", optimizer_words(course(context)),
                     pair_is_under_way(context) ? "The same for both runs of the pair." : "Changes apply at once."))
        return;
    const Ui ui = context.ui();
    const RunSettings& run = course(context);
    const Schedule& schedule = run.train.schedule;
    const std::string rate = format_scientific(schedule.rate, 1);
    run_slider(
        context, "learning rate", schedule.rate,
        held_back(context,
                  {.min = 1e-5, .max = 1e-1, .log = true, .shown = rate, .notes = {.tooltip = "Step size of AdamW after the warm-up."}}),
        [](RunSettings& r, double v) { r.train.schedule.rate = v; });
    if (const std::string words = words_of_rate(context); !words.empty()) {
        paragraph(ui, context.theme.fonts.caption, context.theme.colors.muted, words);
        gap(ui, 4);
    }
    static constexpr std::array<std::string_view, 3> kSchedules = {"constant", "linear", "cosine"};
    int kind = static_cast<int>(schedule.kind);
    if (segmented_row(ui, "schedule", kSchedules, kind, 0,
                      {.tooltip = "After the warm-up the rate stays, or falls to the last rate by the last step.",
                       .disabled = pair_is_under_way(context) ? kPairIsUnderWay : ""})) {
        RunSettings changed = run;
        changed.train.schedule.kind = static_cast<ScheduleKind>(kind);
        emit_run(context, std::move(changed), "");
    }
    count_slider(context, "warm-up", schedule.warm_up_steps,
                 held_back(context, {.min = 0,
                                     .max = 500,
                                     .unit = schedule.warm_up_steps > 0 ? "steps" : "",
                                     .notes = {.tooltip = "Steps over which the rate rises from 0."}}),
                 [](RunSettings& r, std::int64_t v) { r.train.schedule.warm_up_steps = v; });
    run_slider(context, "weight decay", run.train.adamw.weight_decay,
               held_back(context,
                         {.min = 0, .max = 1, .step = 0.01, .notes = {.tooltip = "Pulls the weights towards 0, except biases and norms."}}),
               [](RunSettings& r, double v) { r.train.adamw.weight_decay = v; });
    const DropoutSettings& dropout = run.train.forward.dropout;
    run_slider(
        context, "dropout", std::max({dropout.attention, dropout.residual, dropout.embedding}),
        held_back(
            context,
            {.min = 0, .max = 0.5, .step = 0.01, .notes = {.tooltip = "Share of weights, residuals and embeddings dropped in each step."}}),
        [](RunSettings& r, double v) {
            DropoutSettings& rates = r.train.forward.dropout;
            rates.attention = rates.residual = rates.embedding = v;
        });
    count_slider(context, "batch size", run.batch_size,
                 held_back(context, {.min = 1, .max = 256, .step = 1, .log = true, .notes = {.tooltip = "Sequences of one step."}}),
                 [](RunSettings& r, std::int64_t v) { r.batch_size = v; });
}

void draw_mistake(PanelContext& context) {
    const Mistake mistake = context.document.run.train.forward.mistake;
    const std::string value = mistake == Mistake::None ? "none" : std::string(mistake_info(mistake).title);
    if (run_section(context, "run mistake", "Break it on purpose", value, "A mistake belongs to a new run."))
        draw_training_mistake(context);
}

/// The name and range of "length" for a task.
struct TaskLength {
    double least, most;
    const char* words;
};
TaskLength task_length(TaskKind kind) {
    switch (kind) {
    case TaskKind::Text:
        return {2, 128, "Characters per window."};
    case TaskKind::Sum:
        return {1, 8, "Digits of each number."};
    case TaskKind::Stories:
    case TaskKind::FillIn:
        return {16, 128, "Words of a story; longer ones are cut off."};
    case TaskKind::Copy:
    case TaskKind::Reverse:
    case TaskKind::Sort:
    case TaskKind::Repeat:
    case TaskKind::Addition:
    case TaskKind::Bigram:
    case TaskKind::Translate:
        break;
    }
    return {2, 32, "Symbols in a question, in the half that repeats, or in a sequence."};
}

/// Why a task's number of symbols is fixed; "" if it can be chosen.
const char* symbols_are_given(TaskKind kind) {
    switch (kind) {
    case TaskKind::Text:
        return "The text determines the characters.";
    case TaskKind::Sum:
        return "Ten digits and four signs.";
    case TaskKind::Stories:
    case TaskKind::FillIn:
        return "The stories have words of their own.";
    case TaskKind::Copy:
    case TaskKind::Reverse:
    case TaskKind::Sort:
    case TaskKind::Repeat:
    case TaskKind::Addition:
    case TaskKind::Bigram:
    case TaskKind::Translate:
        break;
    }
    return "";
}

void draw_task_size(PanelContext& context) {
    const TaskSettings& task = context.document.run.task;
    if (task.kind == TaskKind::Translate) return;  // its grammar determines the length
    const bool addition = task.kind == TaskKind::Addition;
    const char* const given = symbols_are_given(task.kind);
    const TaskLength length = task_length(task.kind);
    count_slider(context, "length", task.length,
                 {.min = length.least,
                  .max = length.most,
                  .notes = {.tooltip = length.words, .disabled = addition ? "A sum always has two numbers." : ""}},
                 [](RunSettings& r, std::int64_t v) {
                     r.task.length = v;
                     r.task.shortest = std::min(r.task.shortest, v);
                 });
    if (*given == '\0' && !addition && task.kind != TaskKind::Bigram)
        count_slider(context, "shortest", shortest_length(task),
                     {.min = 1,
                      .max = static_cast<double>(task.length),
                      .notes = {.tooltip = "Questions have every length from this one up to the full length."}},
                     [](RunSettings& r, std::int64_t v) { r.task.shortest = v; });
    count_slider(
        context, addition ? "modulus" : "symbols", task.symbols,
        {.min = addition ? 5.0 : 2.0,
         .max = addition ? 127.0 : 62.0,
         .notes = {.tooltip = addition ? "Sums are taken modulo this number." : "Number of different symbols.", .disabled = given}},
        [](RunSettings& r, std::int64_t v) { r.task.symbols = v; });
}

/// Of a model that begins with random weights.
void draw_sizes(PanelContext& context) {
    const RunSettings& run = context.document.run;
    count_slider(context, "layers", run.model.num_layers,
                 {.min = 1, .max = 6, .notes = {.tooltip = "How many times the block is repeated."}},
                 [](RunSettings& r, std::int64_t v) { r.model.num_layers = v; });
    const bool divides = run.model.num_heads > 0 && run.model.d_model % run.model.num_heads == 0;
    const std::string odd = divides ? "" : fmt::format("{} heads cannot share {} numbers evenly.", run.model.num_heads, run.model.d_model);
    count_slider(context, "heads", run.model.num_heads,
                 {.min = 1, .max = 8, .notes = {.tooltip = "Attention heads that run in parallel and share d_model.", .error = odd}},
                 [](RunSettings& r, std::int64_t v) {
                     r.model.num_heads = v;
                     r.model.d_head = 0;
                     keep_groups(r.model);
                 });
    count_slider(context, "d_model", run.model.d_model,
                 {.min = 8, .max = 256, .step = 8, .notes = {.tooltip = "How many numbers represent a token."}},
                 [](RunSettings& r, std::int64_t v) {
                     // Keep the proportion of the feed-forward network.
                     r.model.d_ff = std::max<std::int64_t>(r.model.d_ff * v / std::max<std::int64_t>(r.model.d_model, 1), 1);
                     r.model.d_model = v;
                     r.model.d_head = 0;
                 });
}

void draw_model(PanelContext& context) {
    if (!run_section(context, "run model", "Task and model", size_words(context.document.run), "Changes begin a new run.")) return;
    const RunSettings& run = context.document.run;
    draw_task_size(context);
    if (trains_further(context))
        paragraph(context.ui(), context.theme.fonts.caption, context.theme.colors.muted,
                  fmt::format("The model's sizes and words are those of {}.", name_of_start(run)));
    else draw_sizes(context);
    count_slider(context, "seed", static_cast<std::int64_t>(run.seed),
                 {.min = 0,
                  .max = 99,
                  .shown = run.seed == 0 ? "0" : "",
                  .notes = {.tooltip = "For parameters, data and dropout: the same seed gives the same losses, bit for bit.",
                            .words = "seed of the run"}},
                 [](RunSettings& r, std::int64_t v) { r.seed = static_cast<std::uint64_t>(v); });
}

/// Offers the model that the other views show, if the task could be learned by one like it.
void draw_adoption(PanelContext& context) {
    const Config& shown = context.document.config;
    if (context.document.model != nullptr || context.document.trained) return;
    if (shown.architecture != context.document.run.model.architecture)
        return void(paragraph(context.ui(), context.theme.fonts.caption, context.theme.colors.faint,
                              "This task needs a different architecture from that of the model shown."));
    if (!link(context.ui(), "as in the model shown",
              "The next run trains a model with the sizes and parts of the one that the other views show, from random weights."))
        return;
    RunSettings run = context.document.run;
    run.model = shown;
    run.model.lm_head = true;  // what a task asks for is predicted
    emit_run(context, std::move(run), "");
}

void draw_parts_of_run(PanelContext& context) {
    if (trains_further(context)) return;
    if (!run_section(context, "run parts", "Parts", parts_words(context.document.run.model), "Changes begin a new run.")) return;
    draw_adoption(context);
    gap(context.ui(), 6);
    draw_run_parts(context);
}

void draw_stop(PanelContext& context) {
    if (!run_section(context, "run stop", "Stop at", stop_words(course(context).stop), "Whichever comes first.")) return;
    const StopAt& stop = course(context).stop;
    const std::string steps = stop.steps > 0 ? format_count(stop.steps) : "no limit";
    count_slider(context, "steps", std::max<std::int64_t>(stop.steps, 50),
                 held_back(context, {.min = 50,
                                     .max = 100000,
                                     .step = 50,
                                     .log = true,
                                     .shown = steps,
                                     .notes = {.tooltip = "Optimizer steps of the run; the schedule falls until then."}}),
                 [](RunSettings& r, std::int64_t v) { r.stop.steps = r.train.schedule.total_steps = v; });
    run_slider(context, "accuracy", stop.accuracy * 100,
               held_back(context, {.min = 0,
                                   .max = 100,
                                   .step = 0.5,
                                   .decimals = 1,
                                   .shown = stop.accuracy > 0 ? "" : "off",
                                   .unit = "%",
                                   .notes = {.tooltip = "Share of held-out answers that are right."}}),
               [](RunSettings& r, double v) { r.stop.accuracy = v / 100; });
    run_slider(context, "held-out loss", stop.loss,
               held_back(context, {.min = 0,
                                   .max = 3,
                                   .step = 0.01,
                                   .shown = stop.loss > 0 ? "" : "off",
                                   .notes = {.tooltip = "Nats per token on held-out sequences."}}),
               [](RunSettings& r, double v) { r.stop.loss = v; });
    count_slider(
        context, "plateau", stop.plateau,
        held_back(context, {.min = 0, .max = 40, .notes = {.tooltip = "This many evaluations in a row without a better held-out loss."}}),
        [](RunSettings& r, std::int64_t v) { r.stop.plateau = v; });
}

void draw_sampling(PanelContext& context) {
    if (run_section(context, "run sampling", "Sampling", sampling_words(context.document.sampling), "How text is generated."))
        draw_sampler_settings(context);
}

void draw_files(PanelContext& context) {
    const RunStatus& run = *context.training.status;
    const bool saved = run.run != 0 && run.step == run.saved_step && !run.file.empty();
    const std::string_view state = run.run == 0 ? "no run" : saved ? "saved" : "not saved";
    if (!run_section(context, "run checkpoint", "Saving", std::string(state), "Where the run is saved.")) return;
    const Ui ui = context.ui();
    const std::string where = run.file.empty() ? "It is in no folder yet." : visible_text(run.file, true);
    paragraph(ui, context.theme.fonts.label, context.theme.colors.muted, where);
    gap(ui, 6);
    const float half = (ImGui::GetContentRegionAvail().x / context.theme.scale - 8) / 2;
    const std::string_view nothing = run.run == 0 ? "There is no run yet." : context.abilities.writes_folders ? "" : kNoFolders;
    if (button(ui, "Save run",
               {.width = half,
                .notes = {.tooltip = "The whole run: model, optimizer, curves, head scores, earlier steps and what is shown of it.",
                          .disabled = nothing}}))
        begin_save_run(context, run.run);
    ImGui::SameLine(0, context.px(8));
    if (button(ui, "Open…", {.width = half, .notes = {.tooltip = "Opens the folder of a run as it was left."}})) begin_open_run(context);
}

std::string megabytes(std::size_t bytes) {
    return format_number(static_cast<double>(bytes) / (1 << 20), {.decimals = bytes < (10U << 20) ? 1 : 0});
}

/// Draws the memory that the kept steps of all runs share, and how they share it.
void draw_history_memory(PanelContext& context) {
    const RunStatus& now = *context.training.status;
    double& chosen = context.view.train.history_mib;
    if (!run_section(context, "run memory", "Memory", fmt::format("{} of {:.0f} MB", megabytes(now.histories_bytes), chosen),
                     "For the kept steps of all runs."))
        return;
    const Edited edited =
        slider_row(context.ui(), "limit", chosen,
                   {.min = 16,
                    .max = 16384,
                    .log = true,
                    .decimals = 0,
                    .shown = fmt::format("{:.0f} MB", chosen),
                    .notes = {.tooltip = "For the kept steps of all runs. With less, every run keeps fewer steps; what is "
                                         "shown, pinned or compared stays."}});
    if (edited.finished) context.commands.push_back({command::SetHistoryBudget{chosen}, ""});
    const std::string own = now.run == 0 ? "" : fmt::format(" (this one: {} MB)", megabytes(now.history_budget));
    paragraph(context.ui(), context.theme.fonts.caption, context.theme.colors.faint,
              fmt::format("A run may fill half of what the others leave free{}, then it keeps every second step. No run takes steps from "
                          "another.",
                          own));
}

float progress_height(const PanelContext& context, float width) {
    const RunStatus& now = *context.training.status;
    const float message = now.message.empty() ? 0 : wrapped_height(context.theme.fonts.label, width, now.message) + context.px(6);
    return context.px(now.run != 0 && now.then != Mistake::None ? 104 : 86) + message;
}

/// Draws speed, time and progress, which are always visible.
void draw_progress(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& colors = context.theme.colors;
    const auto& fonts = context.theme.fonts;
    const RunStatus& now = *context.training.status;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x;
    list.AddRectFilled(at, {at.x + width, at.y + std::max(1.F, context.px(1))}, colors.line);
    at.y += context.px(10);
    if (now.run == 0) {
        // A first run that was refused says why.
        draw_text_wrapped(list, fonts.label, at, width, now.message.empty() ? colors.faint : colors.bad,
                          now.message.empty() ? "Speed, time and progress of the run appear here." : now.message);
        return;
    }
    if (!now.message.empty()) {
        const Color ink = now.phase == TrainingPhase::Failed     ? colors.bad
                          : now.phase == TrainingPhase::Finished ? colors.good
                                                                 : colors.muted;
        at.y += draw_text_wrapped(list, fonts.label, at, width, ink, now.message) + context.px(6);
    }
    const auto line = [&](const std::string& text) {
        draw_text(list, fonts.mono_small, at, colors.muted, elide(fonts.mono_small, text, width));
        at.y += context.px(18);
    };
    const auto speed = [&](int decimals) {
        return fmt::format("{} tokens/s · {} ms/step", format_count(static_cast<std::int64_t>(now.tokens_per_second)),
                           format_number(now.ms_per_step, {.decimals = decimals}));
    };
    // A run that was just opened has no speed yet.
    if (now.ms_per_step > 0) line(speed(text_width(fonts.mono_small, speed(1)) <= width ? 1 : 0));
    std::string time = duration(now.seconds) + " elapsed";
    if (now.seconds_left >= 0 && now.phase == TrainingPhase::Running) time += " · " + duration(now.seconds_left) + " left";
    line(time);
    const std::int64_t last = now.settings.stop.steps;
    at.y += context.px(4);
    ImGui::SetCursorScreenPos(at);
    progress_bar(ui, last > 0 ? static_cast<float>(now.step) / static_cast<float>(last) : 0);
    at.y += context.px(12);
    std::string steps =
        last > 0 ? fmt::format("step {} of {}", format_count(now.step), format_count(last)) : "step " + format_count(now.step);
    line(steps);
    if (now.then != Mistake::None) line("the broken run follows");
}

void draw_scrolled(PanelContext& context) {
    draw_run_list(context);
    draw_optimizer(context);
    draw_mistake(context);
    draw_model(context);
    draw_parts_of_run(context);
    draw_stop(context);
    draw_sampling(context);
    draw_history_memory(context);
    draw_files(context);
}

/// Before the first run: what most people want to change of it, folded, and where a run comes from that exists already.
void draw_settings_of_first_run(PanelContext& context) {
    const Ui ui = context.ui();
    draw_task(context);
    draw_optimizer(context);
    draw_model(context);
    draw_mistake(context);
    draw_stop(context);
    separator(ui);
    if (link(ui, "Open a run …", "A folder that “train” or the window has written.")) begin_open_run(context);
    gap(ui, 4);
    if (link(ui, "All settings", "Sampling, parts of the model, memory and saving, too.")) context.view.train.all_settings = true;
    if (const std::string& refused = context.training.status->message; !refused.empty())
        paragraph(ui, context.theme.fonts.label, context.theme.colors.bad, refused);
}

}  // namespace

std::string words_of_rate(const PanelContext& context) {
    const RunLines* run = context.view.train.curves.find(context.training.status->run);
    if (run == nullptr || run->learning_rate.empty()) return "";
    const std::span<const double> steps = run->learning_rate.x();
    const std::size_t point = nearest_point(steps, static_cast<double>(rewound_step(context).value_or(std::llround(steps.back()))));
    const auto rate = static_cast<double>(run->learning_rate.raw().values()[point]);
    const double slider = course(context).train.schedule.rate;
    if (std::abs(rate - slider) <= 0.005 * slider) return "";
    const std::int64_t step = std::llround(steps[point]);
    return fmt::format("{} at step {}: {}", format_scientific(rate, 1), format_count(step), reason_of_rate(context, step));
}

void draw_train_settings(PanelContext& context) {
    if (is_before_first_run(context) && !context.view.train.all_settings)
        return draw_scrolled_column(context, "##train_scroll", ImGui::GetContentRegionAvail().y, draw_settings_of_first_run);
    draw_task(context);
    if (!is_before_first_run(context)) draw_transport(context);
    draw_pending(context);
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const float foot = progress_height(context, room.x);
    draw_scrolled_column(context, "##train_scroll", room.y - foot, draw_scrolled);
    ImGui::SetCursorScreenPos({at.x, at.y + room.y - foot});
    draw_progress(context);
}

}  // namespace attn::app
