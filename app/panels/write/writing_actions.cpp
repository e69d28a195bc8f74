#include "app/panels/write/writing_actions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/kit/asked_and_shown.hpp"
#include "app/panels/kit/emit.hpp"
#include "app/session/states/kept_tokenizer.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/slider.hpp"

namespace attn::app {
namespace {

std::int64_t shown_sequence(const PanelContext& context) {
    return std::clamp<std::int64_t>(context.view.batch, 0, static_cast<std::int64_t>(context.document.texts.size()) - 1);
}

/// For commands that are undone together.
std::string one_step(PanelContext& context) { return fmt::format("write {}", ++context.view.gesture); }

void write_on(PanelContext& context, const std::string& step) {
    context.commands.push_back({command::WriteOn{shown_sequence(context), {}}, step});
}

}  // namespace

bool could_write(const PanelContext& context) {
    if (!context.ready()) return false;
    const Config& config = context.structure().config;
    return config.lm_head && config.architecture != Architecture::Encoder;
}

bool can_write(const PanelContext& context) { return could_write(context) && context.structure().settings.masks.causal; }

std::string_view no_next_word(const PanelContext& context) {
    return could_write(context) && !can_write(context) ? "every word sees the ones that follow: there is no next one to predict" : "";
}

bool row_says_no_next_word(const PanelContext& context) {
    constexpr float kRoomFrom = 1100;
    return !context.view.panes.only_centre && ImGui::GetIO().DisplaySize.x >= context.px(kRoomFrom);
}

Answer<facet::NextWords> next_words_of(const PanelContext& context) {
    SamplingSettings sampling = context.document.sampling;
    sampling.tokens = SamplingSettings{}.tokens;
    sampling.seed = SamplingSettings{}.seed;
    return context.ask_latest(facet::NextWords{context.view.batch, sampling});
}

ShownNextWords shown_next_words(PanelContext& context) {
    const Answer<facet::NextWords> answer = next_words_of(context);
    NextWordsState& kept = context.view.next_words;
    const StateRef& state = context.snapshot.state;
    const std::shared_ptr<const OpenedModel> model = state == nullptr ? nullptr : state->setup->model.shared();
    if (answer) kept = {answer.value, model};
    const bool kept_on = answer.computing() && kept.last != nullptr && model != nullptr && kept.model == model;
    const bool refused = !context.snapshot.problem.empty(), of_text = shows_asked_text(context);
    const bool at_its_end = !context.outdated || (state != nullptr && context.document.written == state->setup->written);
    const bool changed = kept_on || (!of_text && (refused || fades_now(context)));
    return {kept_on ? kept.last : answer.value, changed, !kept_on && of_text && at_its_end, answer.problem};
}

const Writing& shown_writing(const PanelContext& context) {
    static const Writing kNone;
    const Writing& writing = context.document.writing;
    return writing.sequence == shown_sequence(context) && shows_asked_text(context) ? writing : kNone;
}

std::string no_room_to_write(const PanelContext& context) {
    if (!context.ready() || context.snapshot.tokens.empty()) return "";
    if (!context.snapshot.problem.empty() && !shows_asked_text(context)) return "The text to continue cannot be read: mend it first.";
    const std::int64_t most = context.structure().config.longest_text();
    const auto sequence = std::min(static_cast<std::size_t>(shown_sequence(context)), context.snapshot.tokens.size() - 1);
    const auto& tokens = context.snapshot.tokens[sequence];
    if (static_cast<std::int64_t>(tokens.size()) < most ||
        std::any_of(tokens.begin(), tokens.end(), [](const Token& token) { return token.padding; }))
        return "";
    return fmt::format("The text fills the model's context of {} tokens. Go back to an earlier token to write on from there.", most);
}

void write_on(PanelContext& context) { write_on(context, ""); }

void stop_writing(PanelContext& context) { context.commands.push_back({command::StopWriting{}, ""}); }

void toggle_writing(PanelContext& context) {
    if (context.writing) stop_writing(context);
    else write_on(context);
}

void write_otherwise(PanelContext& context) {
    if (context.writing) stop_writing(context);
    SamplingSettings sampling = context.document.sampling;
    ++sampling.seed;
    const std::string step = one_step(context);
    context.commands.push_back({command::SetSampling{sampling}, step});
    write_on(context, step);
}

bool can_answer_from_start(const PanelContext& context) {
    return can_write(context) && context.structure().config.architecture == Architecture::EncoderDecoder &&
           context.document.texts[static_cast<std::size_t>(shown_sequence(context))] != conventions_of(context.document).answer_begins;
}

void answer_from_start(PanelContext& context) {
    command::SetTexts change{context.document.texts, context.document.source_texts};
    change.texts[static_cast<std::size_t>(shown_sequence(context))] = conventions_of(context.document).answer_begins;
    const std::string step = one_step(context);
    context.commands.push_back({std::move(change), step});
    write_on(context, step);
}

bool ends_text(const PanelContext& context, std::int32_t id) { return conventions_of(context.document).is_end(id); }

void write_word(PanelContext& context, const NextWord& word) {
    context.commands.push_back({command::WriteToken{shown_sequence(context), word.id, word.predicted, word.chance}, ""});
}

void compare_with_branch(PanelContext& context, std::int64_t end) {
    if (context.states.shown == nullptr) return;
    const Writing& writing = context.document.writing;
    const std::vector<std::int64_t> way = way_to(writing, end);
    const std::size_t shown = depth_of(writing, writing.shown), depth = std::min(way.size(), shown);
    const std::int64_t token = depth == 0 ? kPrompt : way[depth - 1];
    context.commands.push_back({command::Pin{false, state_with_written(*context.states.shown, writing, token)}, ""});
    context.view.compare.choose(Compare::Pinned);
    if (depth < shown) context.view.compare.lay_out(CompareLayout::SideBySide);  // texts of different lengths cannot be subtracted
    context.view.view = View::Step;
    // The text before the two is the same, and so is all that an encoder makes of its own.
    StageId& stage = context.view.stage;
    if (stage.stage == Stage::Tokens || stage.stack == Stack::Encoder)
        stage = {Stage::Weights, 0, stage.stack == Stack::Main ? Stack::Main : Stack::Decoder};
}

std::string cut_name(Cut cut, const SamplingSettings& sampling) {
    switch (cut) {
    case Cut::None:
        break;
    case Cut::TopK:
        return fmt::format("top-k {}", sampling.top_k);
    case Cut::TopP:
        return fmt::format("top-p {:.2f}", sampling.top_p);
    case Cut::MinP:
        return fmt::format("min-p {:.2f}", sampling.min_p);
    case Cut::Temperature:
        return fmt::format("temperature {:.2f}", sampling.temperature);
    }
    return "";
}

std::string cut_words(Cut cut, const SamplingSettings& sampling) {
    switch (cut) {
    case Cut::None:
        break;
    case Cut::TopK:
        return fmt::format("Cut by top-k: it is not among the {} likeliest.", sampling.top_k);
    case Cut::TopP:
        return fmt::format("Cut by top-p: likelier ones together already reach {:.2f}.", sampling.top_p);
    case Cut::MinP:
        return fmt::format("Cut by min-p: it is less than {:.2f} times as likely as the likeliest.", sampling.min_p);
    case Cut::Temperature:
        return sampling.temperature == 0 ? "Cut by the temperature: at 0 the likeliest is always taken."
                                         : "Cut by the temperature: its probability has become 0.";
    }
    return "";
}

std::string share_words(double share) { return format_number(share, {.decimals = 4}); }

std::string percent_words(double chance) {
    if (chance < 5e-5) return "<0.01 %";
    if (chance < 5e-4) return fmt::format("{:.2f} %", 100 * chance);
    if (chance < 5e-3) return fmt::format("{:.1f} %", 100 * chance);
    return chance > 0.995 && chance < 1 ? ">99 %" : fmt::format("{} %", std::lround(100 * chance));
}

std::string sampling_words(const SamplingSettings& sampling) {
    std::string words = fmt::format("temperature {:.2f}", sampling.temperature);
    if (sampling.top_k > 0) words += ", " + cut_name(Cut::TopK, sampling);
    if (sampling.top_p < 1) words += ", " + cut_name(Cut::TopP, sampling);
    if (sampling.min_p > 0) words += ", " + cut_name(Cut::MinP, sampling);
    return words;
}

void draw_sampler_settings(PanelContext& context) {
    const Ui ui = context.ui();
    SamplingSettings sampling = context.document.sampling;
    const auto finish = [&](const Edited& edited, const char* control) {
        if (edited) emit_sampling(context, sampling, control);
        close_gesture(context, edited);
    };
    finish(slider_row(ui, "sampling temperature##sampler", sampling.temperature,
                      {.min = 0,
                       .max = 2,
                       .step = 0.05,
                       .notes = {.tooltip = "Below 1 favours the likeliest, above 1 the others. 0: always the likeliest."}}),
           "temperature");
    int most = static_cast<int>(std::min<std::int64_t>(sampling.top_k, 1000));
    const Edited top_k = slider_row(ui, "top-k##sampler", most,
                                    {.min = 0,
                                     .max = 100,
                                     .decimals = 0,
                                     .shown = most == 0 ? "off" : "",
                                     .notes = {.tooltip = "Only this many of the likeliest can be drawn."}});
    if (top_k) sampling.top_k = most;
    finish(top_k, "top_k");
    finish(slider_row(ui, "top-p##sampler", sampling.top_p,
                      {.min = 0.01,
                       .max = 1,
                       .step = 0.01,
                       .shown = sampling.top_p >= 1 ? "off" : "",
                       .notes = {.tooltip = "Of those, only the likeliest that together reach this probability."}}),
           "top_p");
    finish(slider_row(ui, "min-p##sampler", sampling.min_p,
                      {.min = 0,
                       .max = 1,
                       .step = 0.01,
                       .shown = sampling.min_p <= 0 ? "off" : "",
                       .notes = {.tooltip = "Of those, only tokens at least this many times as likely as the likeliest."}}),
           "min_p");
    int tokens = static_cast<int>(std::min<std::int64_t>(sampling.tokens, 1000));
    const Edited count = slider_row(ui, "tokens##sampler", tokens,
                                    {.min = 1, .max = 200, .decimals = 0, .notes = {.tooltip = "How many tokens are written at a time."}});
    if (count) sampling.tokens = tokens;
    finish(count, "tokens");
    int seed = static_cast<int>(std::min<std::uint64_t>(sampling.seed, 1'000'000));
    const Edited chosen = slider_row(ui, "seed##sampler", seed,
                                     {.min = 0,
                                      .max = 999,
                                      .decimals = 0,
                                      .notes = {.tooltip = "The same seed draws the same tokens.", .words = "seed of the sampler"}});
    if (chosen) sampling.seed = static_cast<std::uint64_t>(std::max(seed, 0));
    finish(chosen, "seed");
}

}  // namespace attn::app
