#include "app/cli/run_pictures.hpp"
#include "app/session/numbers/number_desk.hpp"

#include <fmt/core.h>
#include <imgui.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "app/panels/frame/frame.hpp"
#include "app/platform/offscreen.hpp"
#include "app/session/facets/scheduler.hpp"
#include "app/session/values/snapshot.hpp"
#include "app/widgets/line_plot.hpp"
#include "app/widgets/text.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

constexpr double kSmoothing = 0.8;
constexpr float kMargin = 24, kTitle = 40;

struct RunPlot {
    const char* title;
    const char* unit;
    Curve training, validation;
    PlotOptions options;
};

std::array<RunPlot, 4> plots_of(const RunFolder& run) {
    std::array<RunPlot, 4> plots{{{"loss", "nats per token", {}, {}, {}},
                                  {"accuracy", "percent", {}, {}, {}},
                                  {"gradient norm", "before clipping", {}, {}, {}},
                                  {"learning rate", "", {}, {}, {}}}};
    for (const std::size_t noisy : {0, 1, 2}) plots[noisy].training.smooth(kSmoothing);
    for (const LossPoint& point : run.losses) {
        const auto step = static_cast<double>(point.step);
        plots[0].training.append(step, static_cast<float>(point.loss));
        plots[1].training.append(step, static_cast<float>(100 * point.accuracy));
        plots[2].training.append(step, static_cast<float>(point.gradient_norm));
        plots[3].training.append(step, static_cast<float>(point.learning_rate));
    }
    for (const ValidationPoint& point : run.validations) {
        plots[0].validation.append(static_cast<double>(point.step), static_cast<float>(point.loss));
        plots[1].validation.append(static_cast<double>(point.step), static_cast<float>(100 * point.accuracy));
    }
    for (RunPlot& plot : plots) {
        plot.options.x_title = "step";
        plot.options.from_zero = true;
        plot.options.ignore_outliers = &plot == &plots[2];
    }
    plots[1].options.y_range = {0, 100};
    return plots;
}

void draw_plot(const Ui& ui, RunPlot& plot, ImVec2 min, ImVec2 max) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, ui.fonts().title, min, ui.colors().text, plot.title);
    const float x = min.x + text_width(ui.fonts().title, plot.title) + ui.px(10);
    draw_text(list, ui.fonts().label, {x, min.y + ui.px(4)}, ui.colors().muted, plot.unit);
    std::vector<PlotSeries> series;
    series.push_back({.name = plot.validation.empty() ? "" : "training", .curve = &plot.training, .color = ui.colors().accent});
    if (!plot.validation.empty()) series.push_back({.name = "held out", .curve = &plot.validation, .color = ui.colors().axis_s});
    PlotView view;
    PlotCursor cursor;
    line_plot(ui, plot.title, {min.x, min.y + ui.px(32)}, max, series, view, cursor, plot.options);
}

std::string heading(const RunFolder& run) {
    const RunSettings& settings = run.checkpoint.settings;
    const Config& model = settings.model;
    return fmt::format("{}: {} steps, seed {}, {} layers of {} heads, width {}", task_info(settings.task.kind).title, run.checkpoint.steps,
                       settings.seed, model.num_layers, model.num_heads, model.d_model);
}

/// The state that the session would show: the run's newest model with its probe.
StateRef probe_state(const RunFolder& run, const Dataset& dataset) {
    Setup setup;
    setup.texts = {dataset.probe()};
    if (!dataset.probe_source().empty()) setup.source_texts = {dataset.probe_source()};
    setup.tokenizer = dataset.tokenizer().kind();
    setup.special_tokens = dataset.tokenizer().has_special_tokens();
    setup.vocabulary = dataset.tokenizer().vocabulary();
    setup.config = run.checkpoint.parameters->config();
    setup.forward = run.checkpoint.settings.train.forward;
    setup.forward.dropout = {};
    return std::make_shared<const State>(
        State{std::make_shared<const Setup>(std::move(setup)), MomentOfRun{1, run.checkpoint.steps, run.checkpoint.parameters}});
}

}  // namespace

Image draw_curves(const RunFolder& run) {
    std::array<RunPlot, 4> plots = plots_of(run);
    OffscreenOptions picture;
    picture.width = 1280;
    picture.height = 800;
    return render_offscreen(picture, [&](Frame& frame) {
        const Ui ui{frame.theme, frame.canvas};
        ImGui::SetNextWindowPos({0, 0});
        ImGui::SetNextWindowSize({frame.width, frame.height});
        ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
        ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
        ImGui::Begin("##curves", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings);
        ImGui::PopStyleVar(2);
        const float margin = ui.px(kMargin);
        draw_text(*ImGui::GetWindowDrawList(), ui.fonts().heading, {margin, margin}, ui.colors().text, heading(run));
        const ImVec2 start{margin, margin + ui.px(kTitle)};
        const ImVec2 cell{(frame.width - margin) / 2, (frame.height - start.y) / 2};
        for (std::size_t i = 0; i < plots.size(); ++i) {
            const ImVec2 min{start.x + cell.x * static_cast<float>(i % 2), start.y + cell.y * static_cast<float>(i / 2)};
            draw_plot(ui, plots[i], min, {min.x + cell.x - margin, min.y + cell.y - margin});
        }
        ImGui::End();
    });
}

Image draw_attention(const RunFolder& run, const Dataset& dataset) {
    const StateRef state = probe_state(run, dataset);
    Scheduler scheduler(Computation::engine(), [] {});
    std::vector<Request> wanted;
    const auto compute = [&](const Request& request) {
        wanted.push_back(request);
        scheduler.want(wanted);
        scheduler.wait_for(request);
        return scheduler.results();
    };
    const auto snapshot = compute({state, facet::Trace{}}).find(state, facet::Trace{});
    if (!snapshot) throw Error(snapshot.problem);
    States states;
    states.shown = state;
    Document document;
    static_cast<Setup&>(document) = *state->setup;
    document.run = run.checkpoint.settings;
    const TrainingReport report{std::make_shared<const RunStatus>(), {}};
    ViewState view;
    view.view = View::Grid;
    view.heads.stage = Stage::Weights;
    view.stage = {Stage::Weights, 0};
    view.panes.only_centre = true;
    NumberStore number_store;
    OffscreenOptions picture;
    picture.width = 1280;
    picture.height = 800;
    return render_offscreen(picture, [&](Frame& frame) {
        number_store.begin_frame();
        CommandSink ignored;
        Inquiry inquiry(scheduler.results(), compute);
        PanelContext context{{.theme = frame.theme,
                              .canvas = frame.canvas,
                              .document = document,
                              .inquiry = inquiry,
                              .training = report,
                              .view = view,
                              .number_store = number_store,
                              .commands = ignored,
                              .now = frame.time},
                             *snapshot,
                             states};
        draw_frame(context);
    });
}

}  // namespace attn::app
