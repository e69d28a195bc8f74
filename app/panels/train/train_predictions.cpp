#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/panels/kit/train_words.hpp"
#include "app/panels/train/train_transport.hpp"
#include "app/panels/train/train_view.hpp"
#include "app/panels/write/writing_actions.hpp"
#include "app/session/states/text_model.hpp"
#include "app/session/values/held_out.hpp"
#include "app/session/values/next_words.hpp"
#include "app/session/values/sample.hpp"
#include "app/widgets/box.hpp"
#include "app/widgets/controls.hpp"
#include "app/widgets/imgui_compat.hpp"
#include "app/widgets/number.hpp"
#include "app/widgets/text.hpp"
#include "app/widgets/token_chips.hpp"
#include "app/widgets/value_bar.hpp"
#include "engine/train/run_settings.hpp"

namespace attn::app {
namespace {

constexpr float kLine = 19, kHeading = 24;

void heading(PanelContext& context, const Box& box, std::string_view title, std::string_view note) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, fonts.strong, box.min, colors.text, title);
    const float x = box.min.x + text_width(fonts.strong, title) + context.px(8);
    draw_text(list, fonts.caption, {x, box.min.y + context.px(3)}, colors.faint, elide_parts(fonts.caption, note, box.max.x - x));
}

bool fills_in(const PanelContext& context) { return context.ready() && context.structure().config.architecture == Architecture::Encoder; }

/// The last position of a sequence, or for a masked language model the first hidden one.
std::int64_t asked_position(const PanelContext& context, const std::vector<Token>& tokens, std::int64_t length) {
    if (!fills_in(context)) return length - 1;
    const auto blank = std::find_if(tokens.begin(), tokens.end(), [](const Token& token) { return token.text == kBlank; });
    return blank == tokens.end() ? length - 1 : blank - tokens.begin();
}

/// The position whose prediction is shown: the selected query, otherwise the one asked for.
std::optional<PredictedPosition> position_of(const PanelContext& context) {
    const auto& sequences = context.snapshot.tokens;
    if (sequences.empty()) return std::nullopt;
    PredictedPosition position;
    position.sequence = std::min(context.view.batch, static_cast<std::int64_t>(sequences.size()) - 1);
    const auto& tokens = sequences[static_cast<std::size_t>(position.sequence)];
    const auto length = static_cast<std::int64_t>(std::count_if(tokens.begin(), tokens.end(), [](const Token& t) { return !t.padding; }));
    if (length == 0) return std::nullopt;
    const std::int64_t asked = asked_position(context, tokens, length);
    position.index =
        std::clamp<std::int64_t>(context.view.hover_shown.on(Axis::T).value_or(context.view.train.query.value_or(asked)), 0, length - 1);
    position.token = shown_bytes(tokens[static_cast<std::size_t>(position.index)].text);
    return position;
}

/// The candidates at this position; those shown last, with their own position, while they are computed.
const Predicted& predicted_at(PanelContext& context, const PredictedPosition& position) {
    Predicted& shown = context.view.train.predicted;
    const auto answer = context.ask_latest(facet::NextWords{position.sequence, {}, position.index});
    if (!answer.computing() || shown.run != context.snapshot.run)
        shown = {answer.value, answer.problem, context.snapshot.run, position, nullptr};
    const StateRef& a = context.states.pinned_a;
    const bool same_text = a != nullptr && a != context.states.shown && same_but_for_moment(*a, *context.states.shown);
    shown.pinned = same_text ? context.inquiry.ask(a, facet::NextWords{shown.at.sequence, {}, shown.at.index}).value : nullptr;
    return shown;
}

/// The chance that these candidates give to a token, if it is among those listed.
std::optional<double> chance_of(const NextWords& words, std::int64_t id) {
    for (const NextWord& word : words.likeliest)
        if (word.id == id) return word.predicted;
    return {};
}

/// Draws the likeliest next tokens as bars.
void draw_next(PanelContext& context, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    const std::optional<PredictedPosition> position = position_of(context);
    const bool hidden = fills_in(context);
    const char* title = hidden ? "hidden word" : "next token";
    if (!position || !context.structure().config.lm_head) return heading(context, box, title, "");
    const auto& [words, problem, run, shown_at, pinned] = predicted_at(context, *position);
    const std::string at = hidden ? "at" : fmt::format("after “{}”", shown_at.token);
    std::string note = fmt::format("{}{}position {}", at, hidden ? " " : ", ", shown_at.index);
    if (pinned != nullptr)
        note = fmt::format("{} · step {} → {}", at, format_count(moment_of(*context.states.pinned_a)->step),
                           format_count(context.snapshot.trained_step.value_or(0)));
    if (text_width(fonts.strong, title) + text_width(fonts.caption, note) + context.px(8) > box.width()) note = at;
    heading(context, box, title, note);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    if (words == nullptr) {
        draw_text_wrapped(list, fonts.label, {box.min.x, box.min.y + context.px(kHeading)}, box.width(), colors.faint,
                          problem.empty() ? "Computing …" : problem);
        return;
    }
    const float line = context.px(kLine);
    const auto room = static_cast<std::size_t>(std::max((box.height() - context.px(kHeading)) / line, 0.F));
    const std::size_t shown = std::min({room, words->likeliest.size(), std::size_t{10}});
    float widest = 0;
    for (std::size_t i = 0; i < shown; ++i)
        widest = std::max(widest, text_width(fonts.mono, shown_token(words->likeliest[i].text, words->likeliest[i].id)));
    const float label = std::min(std::max(widest + context.px(8), context.px(40)), box.width() / 2),
                figure = context.px(pinned != nullptr ? 116 : 54);
    const float left = box.min.x + label, right = box.max.x - figure;
    for (std::size_t i = 0; i < shown; ++i) {
        const NextWord& word = words->likeliest[i];
        const float y = box.min.y + context.px(kHeading) + static_cast<float>(i) * line;
        const std::string name = shown_token(word.text, word.id);
        draw_text_in(list, fonts.mono, {box.min.x, y}, {left - context.px(8), y + line}, {1, 0.5F}, colors.text,
                     elide(fonts.mono, name, label - context.px(8)));
        list.AddRectFilled({left, y + context.px(4)}, {right, y + line - context.px(4)}, colors.raised, context.px(3));
        value_bar(list, {left, y + context.px(4)}, {right, y + line - context.px(4)}, word.predicted,
                  i == 0 ? colors.accent : mix(colors.accent, colors.pane, 0.45F), context.px(3));
        std::string chance = percent_words(word.predicted);
        if (pinned != nullptr) {
            const auto before = chance_of(*pinned, word.id);
            chance = (before ? percent_words(*before) : "–") + " → " + chance;
            if (before) value_bar(list, {left, y + line - context.px(4)}, {right, y + line - context.px(2)}, *before, colors.chosen, 0);
        }
        draw_text_in(list, fonts.mono_small, {right, y}, {box.max.x, y + line}, {1, 0.5F}, colors.muted, chance);
    }
}

/// A cell of a held-out sequence.
struct ExampleCell {
    std::string text, said;       ///< the correct token, and the model's prediction if it is wrong
    std::optional<Color> tint{};  ///< of what is asked for
    float width = 0;
};

std::vector<ExampleCell> cells_of(const PanelContext& context, const HeldOutExample& example, float room) {
    const auto& [colors, fonts, scale] = context.theme;
    std::vector<ExampleCell> cells(example.tokens.size());
    // Cells shrink for long sequences.
    const float least = std::clamp(room / static_cast<float>(std::max<std::size_t>(cells.size(), 1)), context.px(10), context.px(17));
    for (std::size_t i = 0; i < cells.size(); ++i) {
        ExampleCell& cell = cells[i];
        cell.text = shown_bytes(example.tokens[i]);
        if (example.right[i] >= 0) cell.tint = example.right[i] == 1 ? colors.good : colors.bad;
        if (example.right[i] == 0) cell.said = shown_bytes(example.predicted[i]);
        cell.width = std::max(
            {least, text_width(fonts.mono_small, cell.text) + context.px(3), text_width(fonts.mono_tiny, cell.said) + context.px(3)});
    }
    return cells;
}

constexpr float kCellHeight = 19, kSaidHeight = 13, kSourceHeight = 17;

/// Draws as many cells as fit; returns their width.
float draw_cells(const PanelContext& context, const std::vector<ExampleCell>& cells, ImVec2 at, float right) {
    const auto& [colors, fonts, scale] = context.theme;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const float high = context.px(kCellHeight), between = context.px(2);
    float x = at.x;
    for (const ExampleCell& cell : cells) {
        if (x + cell.width > right + between) {
            draw_text(list, fonts.mono_small, {x, at.y + between}, colors.faint, "…");
            break;
        }
        const ImVec2 end{x + cell.width - between, at.y + high};
        if (cell.tint) list.AddRectFilled({x, at.y}, end, with_alpha(*cell.tint, 0.16F), context.px(3));
        draw_text_in(list, fonts.mono_small, {x, at.y}, end, {0.5F, 0.5F}, cell.tint.value_or(colors.muted), cell.text);
        if (!cell.said.empty())
            draw_text_in(list, fonts.mono_tiny, {x, end.y}, {end.x, end.y + context.px(kSaidHeight)}, {0.5F, 0.5F}, colors.bad, cell.said);
        x += cell.width;
    }
    return x - at.x;
}

/// Those of the shown step, or while they are computed those of one before, which say so. Only the shown model is asked.
Answer<facet::HeldOut> held_out_answers(const PanelContext& context) {
    const RunStatus& run = *context.training.status;
    const MomentOfRun* moment = context.states.shown == nullptr ? nullptr : moment_of(*context.states.shown);
    if (moment == nullptr || moment->run != run.run || run.held_out == nullptr)
        return {nullptr, "Answers are those of the shown step: show one of this run."};
    ForwardSettings forward = run.settings.train.forward;
    forward.dropout = {};
    return context.ask_latest(facet::HeldOut{run.held_out, forward});
}

/// What is said of answers: their step, and how many were right there if that was evaluated.
std::string words_of_held_out(const PanelContext& context, std::int64_t step) {
    std::string words = fmt::format("answers at step {} · never trained on", format_count(step));
    const auto& points = context.training.runs.back().validations;
    const auto point =
        std::lower_bound(points.begin(), points.end(), step, [](const ValidationPoint& a, std::int64_t b) { return a.step < b; });
    if (point == points.end() || point->step != step) return words;
    const std::string lengths = accuracy_by_length(point->by_length);
    return lengths.empty() ? words : words + " · right by length " + lengths;
}

/// Draws held-out sequences: correct predictions in green, wrong ones in red with the prediction below. Short sequences are arranged in
/// several columns.
void draw_examples(PanelContext& context, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    const Answer<facet::HeldOut> answers = held_out_answers(context);
    heading(context, box, "held out", answers ? words_of_held_out(context, answers->step.value_or(0)) : "");
    const float top = box.min.y + context.px(kHeading);
    if (!answers) {
        draw_text_wrapped(*ImGui::GetWindowDrawList(), fonts.label, {box.min.x, top}, box.width(), colors.faint,
                          answers.problem.empty() ? "Computing …" : answers.problem);
        return;
    }
    float x = box.min.x, y = top, widest = 0;
    for (const HeldOutExample& example : answers->examples) {
        if (example.tokens.empty()) continue;
        const std::vector<ExampleCell> cells = cells_of(context, example, box.width());
        const bool wrong = std::any_of(cells.begin(), cells.end(), [](const ExampleCell& cell) { return !cell.said.empty(); });
        const float above = example.source.empty() ? 0 : context.px(kSourceHeight);
        const float high = above + context.px(kCellHeight + (wrong ? kSaidHeight : 0));
        if (y + high > box.max.y) {
            x += widest + context.px(24);
            if (y == top || x + widest > box.max.x) break;
            y = top;
            widest = 0;
        }
        if (above > 0) {
            const std::string source = elide(fonts.caption, fmt::format("{}", fmt::join(example.source, " ")), box.max.x - x);
            draw_text(*ImGui::GetWindowDrawList(), fonts.caption, {x, y}, colors.faint, source);
            widest = std::max(widest, text_width(fonts.caption, source));
        }
        widest = std::max(widest, draw_cells(context, cells, {x, y + above}, box.max.x));
        y += high + context.px(5);
    }
}

float width_of_cells(const std::vector<ExampleCell>& cells) {
    return std::accumulate(cells.begin(), cells.end(), 0.F, [](float width, const ExampleCell& cell) { return width + cell.width; });
}

/// Draws the prompt with the model's continuation.
void draw_sample(PanelContext& context, const Answer<facet::Sample>& sample, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    const SamplingSettings& sampling = context.document.sampling;
    std::string note = "temperature " + format_number(sampling.temperature, {.decimals = 2});
    if (sampling.top_k > 0) note += fmt::format(" · top {}", sampling.top_k);
    if (sampling.top_p < 1) note += " · p " + format_number(sampling.top_p, {.decimals = 2});
    const bool translates = !context.snapshot.source_tokens.empty();
    heading(context, box, translates ? "it translates" : "it continues", note);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImFont* font = fonts.mono_small;
    const float line = font_size(font) + context.px(5), top = box.min.y + context.px(kHeading);
    if (!sample) {
        draw_text_wrapped(list, fonts.label, {box.min.x, top}, box.width(), colors.bad, sample.problem);
        return;
    }
    float x = box.min.x, y = top;
    const auto write = [&](const std::string& text, Color color) {
        const float wide = text_width(font, text);
        if (x + wide > box.max.x) {
            x = box.min.x;
            y += line;
        }
        if (y + line > box.max.y + context.px(2)) return false;
        draw_text(list, font, {x, y}, color, text);
        x += wide;
        return true;
    };
    bool fits = true;
    const RunStatus& run = *context.training.status;
    const std::string between(own_conventions(run.tokenizer, run.special_tokens).between);
    if (translates) fits = write("→ ", colors.faint);  // the source is shown above the maps
    const std::vector<std::string> said = readable_pieces(sample->tokens);
    const auto width_of = [&](const std::string& piece) { return text_width(font, piece + between); };
    if (const auto& texts = context.snapshot.tokens; !translates && !texts.empty()) {
        const auto end = std::find_if(texts.front().begin(), texts.front().end(), [](const Token& token) { return token.padding; });
        const std::vector<std::string> prompt = readable_pieces({texts.front().begin(), end});
        // A long prompt leaves its beginning out rather than the continuation. Lines are not filled to their ends.
        constexpr float kFilled = 0.9F;
        float room = std::floor((box.max.y + context.px(2) - top) / line) * box.width() * kFilled;
        for (const std::string& piece : said) room -= width_of(piece);
        room = std::max(room, box.width() * kFilled);  // a line of it shows what is continued
        std::size_t first = prompt.size();
        for (; first > 0 && (room -= width_of(prompt[first - 1])) > 0;) --first;
        if (first > 0) write("…" + between, colors.faint);
        for (std::size_t i = first; i < prompt.size(); ++i) fits = fits && write(prompt[i] + between, colors.faint);
    }
    for (const std::string& piece : said) fits = fits && write(piece + between, colors.text);
}

}  // namespace

float draw_task_example(const PanelContext& context, const Box& box) {
    const auto& [colors, fonts, scale] = context.theme;
    const RunSettings& run = context.document.run;
    const auto example = context.inquiry.ask(nullptr, facet::TaskExample{run.task, run.seed});
    if (!example) return 0;
    std::vector<ExampleCell> cells = cells_of(context, *example, box.width());
    for (ExampleCell& cell : cells)
        if (cell.tint) cell.tint = colors.accent;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    float y = box.min.y;
    if (!example->source.empty()) {
        const std::string source = elide(fonts.label, fmt::format("{}", fmt::join(example->source, " ")), box.width());
        draw_text_in(list, fonts.label, {box.min.x, y}, {box.max.x, y + context.px(kCellHeight)}, {0.5F, 0.5F}, colors.muted, source);
        y += context.px(kCellHeight + 4);
    }
    draw_cells(context, cells, {std::max(box.min.x, (box.min.x + box.max.x - width_of_cells(cells)) / 2), y}, box.max.x);
    y += context.px(kCellHeight + 6);
    draw_text_in(list, fonts.caption, {box.min.x, y}, {box.max.x, y + font_size(fonts.caption)}, {0.5F, 0.5F}, colors.faint,
                 "One of its sequences. What is marked is asked for.");
    return y + font_size(fonts.caption) - box.min.y;
}

void draw_train_predictions(PanelContext& context) {
    const auto& [colors, fonts, scale] = context.theme;
    const ImVec2 at = ImGui::GetCursorScreenPos(), room = ImGui::GetContentRegionAvail();
    const Box box{at, {at.x + room.x, at.y + room.y}};
    if (context.training.status->run == 0) {
        draw_text(*ImGui::GetWindowDrawList(), fonts.title, at, colors.text, "predictions");
        draw_text_wrapped(
            *ImGui::GetWindowDrawList(), fonts.label, {at.x, at.y + context.px(34)}, room.x, colors.faint,
            "The likeliest next tokens, held-out sequences with every answer marked right or wrong, and what the model generates "
            "on its own.");
        return;
    }
    const bool own = context.ready() && context.snapshot.run != 0;
    const float gap = context.px(22), third = std::clamp(room.x * 0.36F, context.px(130), context.px(220));
    const Box right{{box.min.x + (own ? third + gap : 0), box.min.y}, box.max};
    if (own) draw_next(context, {box.min, {box.min.x + third, box.max.y}});
    const bool writes = own && !fills_in(context) && context.structure().config.lm_head && context.structure().settings.masks.causal;
    const auto sample = writes ? context.ask_latest(facet::Sample{context.document.sampling}) : Answer<facet::Sample>();
    const bool shows_sample = writes && !sample.computing();
    Box examples = right, continued = right;
    if (shows_sample && room.y < context.px(170)) {
        continued.min.x = right.max.x - right.width() * 0.4F;
        examples.max.x = continued.min.x - gap;
    } else if (shows_sample) {
        continued.min.y = right.max.y - std::clamp(room.y * 0.40F, context.px(58), context.px(96));
        examples.max.y = continued.min.y - context.px(8);
    }
    draw_examples(context, examples);
    if (shows_sample) draw_sample(context, sample, continued);
}

}  // namespace attn::app
