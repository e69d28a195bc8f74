#include "app/panels/settings/mistakes.hpp"

#include <algorithm>
#include <string>

#include "app/panels/kit/emit.hpp"
#include "app/session/values/difference.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/text.hpp"
#include "engine/plan/plan.hpp"

namespace attn::app {
namespace {

/// Goes to the first stage changed by the mistake, in the current layer if possible. A wrong mask shows in the weights: scores that only
/// one side masks have no difference.
void go_where_it_acts(PanelContext& context, Mistake mistake) {
    if (!context.ready()) return;
    const Config& config = context.structure().config;
    const Plan right(config), wrong(config, mistake);
    const auto [changed, broken] = std::mismatch(right.nodes().begin(), right.nodes().end(), wrong.nodes().begin());
    if (changed == right.nodes().end()) return;
    StageId id = changed->id.stage == Stage::Masked ? weights_of(changed->id) : changed->id;
    if (id.layer >= 0) id.layer = std::max(context.view.stage.layer, 0);
    id.stack = context.view.stage.stack;
    if (context.has_stage(id)) context.view.stage = id;
    if (mistake != Mistake::PaddingOnQueries) return;
    const std::vector<std::int64_t>& lengths = context.structure().tokens.lengths;
    // The text with the most padding; the row above may be drawn already.
    context.view.next_batch = std::min_element(lengths.begin(), lengths.end()) - lengths.begin();
}

}  // namespace

void set_mistake(PanelContext& context, Mistake mistake) {
    ForwardSettings forward = context.document.forward;
    forward.mistake = mistake;
    emit_forward(context, std::move(forward), "");
    Comparison& compare = context.view.compare;
    if (mistake != Mistake::None) {
        compare.choose(Compare::Correct);
        go_where_it_acts(context, mistake);
    } else if (compare.source == Compare::Correct) {
        compare.choose(Compare::Off);
    }
}

void draw_mistake_settings(PanelContext& context) {
    const Ui ui = context.ui();
    const Mistake now = context.document.forward.mistake;
    for (const MistakeInfo& info : mistakes()) {
        const std::string label = std::string(info.title) + "##mistake";
        const bool on = info.mistake == now;
        if (button(ui, label.c_str(), {.width = -1, .height = 26, .active = on, .notes = {.tooltip = info.look}}))
            set_mistake(context, on ? Mistake::None : info.mistake);
    }
    gap(ui, 4);
    paragraph(ui, context.theme.fonts.label, context.theme.colors.faint,
              now == Mistake::None ? "Each makes one classic mistake and shows it beside the correct computation."
                                   : std::string("What to look for: ") + std::string(mistake_info(now).look));
}

void train_both(PanelContext& context, Mistake mistake) {
    RunSettings run = context.document.run;
    run.train.forward.mistake = mistake;
    emit_run(context, std::move(run), "");
    context.commands.push_back({command::TrainBoth{}, ""});
    context.view.view = View::Train;
}

void draw_training_mistake(PanelContext& context) {
    const Ui ui = context.ui();
    const auto& [colors, fonts, scale] = context.theme;
    const Mistake set = context.document.run.train.forward.mistake;
    const auto choose = [&](Mistake mistake) {
        RunSettings run = context.document.run;
        run.train.forward.mistake = mistake;
        emit_run(context, std::move(run), "");
    };
    if (begin_menu_button(ui, "##training_mistake", set == Mistake::None ? "no mistake" : mistake_info(set).title, -1,
                          {.tooltip = "A classic mistake made in every step of the run."})) {
        if (menu_item(ui, "no mistake", set == Mistake::None, "The run makes no mistake.")) choose(Mistake::None);
        for (const MistakeInfo& info : mistakes())
            if (menu_item(ui, info.title, info.mistake == set, info.look)) choose(info.mistake);
        end_menu_button();
    }
    gap(ui, 4);
    const RunStatus& now = *context.training.status;
    if (set == Mistake::None) {
        paragraph(ui, fonts.label, colors.faint, "Choose one to see its curve next to that of a correct run.");
    } else {
        paragraph(ui, fonts.label, colors.bad, "Broken on purpose: " + std::string(mistake_info(set).words) + ".");
        const bool running = now.phase == TrainingPhase::Running || now.phase == TrainingPhase::Paused;
        const bool under_way = running && (now.then == set || now.settings.train.forward.mistake == set);
        if (under_way) {
            const bool waits = now.then == set;
            paragraph(ui, fonts.label, colors.muted,
                      waits ? "This is the correct run. The broken one, with the same seed, starts when it ends."
                            : std::string(mistake_info(set).look));
            if (waits && link(ui, "start the broken one now", "The curve of the correct run is kept as far as it got."))
                context.commands.push_back({command::RestartTraining{}, ""});
        } else if (button(ui, "Train correct and broken",
                          {.look = ButtonLook::Accent,
                           .width = -1,
                           .notes = {.tooltip = "Two runs with the same seed, the correct one first; both curves are kept. A correct run "
                                                "that has already ended is not repeated."}})) {
            train_both(context, set);
        }
    }
    gap(ui, 6);
}

void draw_mistake_sign(PanelContext& context) {
    const Mistake mistake = context.ready() ? context.structure().settings.mistake : Mistake::None;
    if (mistake == Mistake::None) return;
    const auto& [colors, fonts, scale] = context.theme;
    const Ui ui = context.ui();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = ImGui::GetContentRegionAvail().x, height = context.px(32), repair = 72, train = 104;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {at.x + width, at.y + height}, with_alpha(colors.bad, 0.14F), context.px(6));
    list.AddRect(at, {at.x + width, at.y + height}, colors.bad, context.px(6));
    const bool broken = context.states.correct != nullptr;
    const auto same = broken ? context.ask(facet::SameNumbers{context.states.correct}) : Answer<facet::SameNumbers>();
    const bool idle = same && *same;
    const std::string text = idle ? "No effect here: it needs " + std::string(mistake_info(mistake).needs) + "."
                                  : "Broken on purpose: " + std::string(mistake_info(mistake).words) + ".";
    draw_text(list, fonts.label, {at.x + context.px(10), at.y + context.px(8)}, colors.text,
              elide(fonts.label, text, width - context.px(repair + train + 32)));
    ImGui::SetCursorScreenPos({at.x + width - context.px(repair + train + 8), at.y + context.px(3)});
    if (button(
            ui, "train with it",
            {.width = train,
             .height = 26,
             .notes = {.tooltip = "Two training runs with the same seed, one correct and one with this mistake, with both curves shown."}}))
        train_both(context, mistake);
    ImGui::SetCursorScreenPos({at.x + width - context.px(repair + 4), at.y + context.px(3)});
    if (button(ui, "repair", {.width = repair, .height = 26, .notes = {.tooltip = "Computes correctly again."}}))
        set_mistake(context, Mistake::None);
    ImGui::SetCursorScreenPos({at.x, at.y + height + context.px(10)});
}

}  // namespace attn::app
