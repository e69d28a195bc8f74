#include "app/panels/actions/control_actions.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "app/panels/kit/section.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/document/view.hpp"
#include "app/widgets/box.hpp"

namespace attn::app {
namespace {

using C = PanelContext;

/// Where a control stands.
enum class Home : std::uint8_t {
    Settings,  ///< all settings, in any view of the document
    Write,     ///< all settings, in the Write view
    Lines,     ///< all settings, in the Lines view
    Train,     ///< the settings of a run
    Picture,   ///< beside a map
};

struct ListedControl {
    const char *name, *also;
    Home home;
    const char *section, *words;  ///< the section's name in the settings file, and the control's label
};

constexpr std::array kControls = {
    ListedControl{"Colour scale", "scale, range, color scale", Home::Picture, "", "colour scale"},
    ListedControl{"Softmax temperature", "temperature, sharpness", Home::Settings, "softmax", "softmax temperature"},
    ListedControl{"Sampling temperature", "temperature", Home::Write, "sampler", "sampling temperature"},
    ListedControl{"Dropout", "drop out", Home::Settings, "softmax", "dropout"},
    ListedControl{"Seed of the dropout", "seed, draw again", Home::Settings, "softmax", "dropout seed"},
    ListedControl{"Sampler: top-k", "top-k", Home::Write, "sampler", "top-k"},
    ListedControl{"Sampler: top-p", "top-p, nucleus", Home::Write, "sampler", "top-p"},
    ListedControl{"Sampler: min-p", "min-p", Home::Write, "sampler", "min-p"},
    ListedControl{"Sampler: how many tokens", "tokens to write", Home::Write, "sampler", "tokens"},
    ListedControl{"Seed of the sampler", "seed", Home::Write, "sampler", "seed of the sampler"},
    ListedControl{"Least weight of a line", "min weight, threshold", Home::Lines, "lines", "min weight"},
    ListedControl{"Memory and speed", "memory, speed, faster, gpu, threads", Home::Settings, "model", "memory"},
    ListedControl{"Learning rate", "learning rate, rate, step size", Home::Train, "run optimizer", "learning rate"},
    ListedControl{"Schedule of the learning rate", "schedule, cosine, decay", Home::Train, "run optimizer", "schedule"},
    ListedControl{"Warm-up", "warm-up, warmup", Home::Train, "run optimizer", "warm-up"},
    ListedControl{"Weight decay", "weight decay, regularization", Home::Train, "run optimizer", "weight decay"},
    ListedControl{"Dropout of the run", "dropout while training", Home::Train, "run optimizer", "dropout"},
    ListedControl{"Batch size", "batch size", Home::Train, "run optimizer", "batch size"},
    ListedControl{"Length of the task", "length", Home::Train, "run model", "length"},
    ListedControl{"Layers of the run", "depth", Home::Train, "run model", "layers"},
    ListedControl{"Heads of the run", "", Home::Train, "run model", "heads"},
    ListedControl{"Width of the run", "width, d_model", Home::Train, "run model", "d_model"},
    ListedControl{"Seed of the run", "seed", Home::Train, "run model", "seed of the run"},
    ListedControl{"Steps of the run", "steps, stop at", Home::Train, "run stop", "steps"},
};

void open_home(C& context, const ListedControl& control) {
    ViewState& view = context.view;
    view.panes.only_centre = false;
    if (control.home == Home::Train) {
        view.view = View::Train;
        view.panes.left = true;
        if (const auto folded = view.settings.folded.find(control.section); folded != view.settings.folded.end())
            view.settings.folded.erase(folded);
        return;
    }
    if (control.home == Home::Picture) {
        if (!shows_maps(view.view)) view.view = View::Step;
        if (view.stage.stage == Stage::Tokens) view.stage = {Stage::Weights, 0, view.stage.stack};
        return;
    }
    if (control.home == Home::Write) view.view = View::Write;
    else if (control.home == Home::Lines) view.view = View::Lines;
    else if (view.view == View::Train || view.view == View::Precision) view.view = View::Step;
    open_settings_section(view, control.section);
}

/// The control with these words, or all alternatives that begin with them, such as "schedule constant".
std::optional<Box> box_of(const std::vector<FocusStop>& drawn, const std::string& words) {
    // The last one: all settings lie over the pane with the few.
    const auto exact = std::find_if(drawn.rbegin(), drawn.rend(), [&](const FocusStop& stop) { return stop.words == words; });
    if (exact != drawn.rend()) return Box{{exact->left, exact->top}, {exact->right, exact->bottom}};
    std::optional<Box> all;
    for (const FocusStop& stop : drawn) {
        if (!stop.words.starts_with(words + " ")) continue;
        if (!all) all = Box{{stop.left, stop.top}, {stop.right, stop.bottom}};
        all->min = {std::min(all->min.x, stop.left), std::min(all->min.y, stop.top)};
        all->max = {std::max(all->max.x, stop.right), std::max(all->max.y, stop.bottom)};
    }
    return all;
}

}  // namespace

void add_control_actions(std::vector<Action>& all) {
    for (const ListedControl& control : kControls) {
        all.push_back(without_key(control.name, control.home == Home::Train ? "Training" : "Setting", [&control](C& c) {
            open_home(c, control);
            frame_control(c, control.words);
            c.view.focus.seek(control.words);  // so that its number can be typed at once
        }));
        Action& action = all.back();
        action.also = control.also;
        if (control.home == Home::Train) continue;
        action.available = [&control](const C& c) { return !c.view.lesson.open() && (control.home != Home::Write || can_write(c)); };
        action.needs = control.home == Home::Write ? "Needs a model that writes: one with the causal mask on." : "Leave the lesson first.";
    }
}

void frame_control(C& context, std::string words) {
    constexpr double kSeconds = 2;
    context.view.palette.framed = {std::move(words), context.now + kSeconds};
}

void draw_framed_control(C& context) {
    const FramedControl& framed = context.view.palette.framed;
    if (context.now >= framed.until) return;
    std::optional<Box> box = box_of(context.view.focus.drawn(), framed.words);
    if (!box) return;
    constexpr float kSlider = 26, kLabelAbove = 18;  // a slider is lower than any other control, and has its label above it
    if (box->height() < context.px(kSlider)) box->min.y -= context.px(kLabelAbove);
    const float edge = context.px(4);
    const Box frame{{box->min.x - edge, box->min.y - edge}, {box->max.x + edge, box->max.y + edge}};
    ImGui::GetForegroundDrawList()->AddRect(frame.min, frame.max, context.theme.colors.chosen, context.px(6), 0, context.px(2));
    context.view.drawn.framed = frame;
}

}  // namespace attn::app
