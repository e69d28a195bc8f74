#include "app/session/lesson_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "app/session/document/knock_out_names.hpp"
#include "app/session/files/tensor_export.hpp"
#include "app/session/lessons/lesson_goal.hpp"
#include "app/session/page_figure.hpp"
#include "app/session/session.hpp"
#include "app/session/values/gradients.hpp"
#include "app/session/values/knock_out.hpp"
#include "app/session/values/readings.hpp"
#include "app/session/values/totals_slice.hpp"
#include "engine/io/atomic_file.hpp"
#include "engine/plan/head_of.hpp"

namespace attn::app {
namespace {

constexpr std::int64_t kMostLines = 200;     // of a picture
constexpr std::int64_t kMostInTable = 1000;  // numbers
constexpr double kSmallCell = 14, kTinyCell = 8;

constexpr std::string_view kStyle = R"(
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0;background:#fff;color:#1b1f24;font:17px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:760px;margin:0 auto;padding:24px 16px 48px}
h1{font-size:1.7em;line-height:1.2;margin:0 0 .3em}
h2{font-size:1.2em;line-height:1.3;margin:0 0 .5em}
h2 span{color:#5b6470;font-weight:400;margin-right:.5em}
.step{border-top:1px solid #d5dae0;padding:22px 0 6px}
.ask{background:#f2f5f9;border-radius:10px;padding:12px 16px;margin:0 0 14px}
.ask p{margin:0 0 .4em;font-weight:600}
.ask ul{margin:.2em 0 .4em;padding-left:1.3em}
.show{position:absolute;opacity:0}
.show+label{display:inline-block;padding:6px 14px;border:1px solid #1f62b0;border-radius:8px;color:#1f62b0;cursor:pointer;margin-bottom:14px}
.show:focus-visible+label{outline:3px solid #9cc3ee}
.show:checked+label{display:none}
.show:not(:checked)~.answer{display:none}
figure{margin:0 0 14px;overflow-x:auto}
figcaption{font-size:.82em;color:#5b6470}
.many{display:flex;flex-wrap:wrap;gap:10px}
.many figure{flex:1 1 200px;margin:0}
svg{display:block;width:100%;height:auto}
svg text{font:11px ui-monospace,Consolas,"DejaVu Sans Mono",monospace;fill:#3b434d}
svg text.n{font-size:9px;fill:#1b1f24}svg text.n.d{fill:#fff}svg text.on{fill:#a85500;font-weight:700}
svg .c{fill:none;stroke:#e08a00;stroke-width:2.5}svg .a{fill:none;stroke:#9aa3ad}
svg .l{fill:none;stroke:#1f62b0;stroke-width:1.6}svg .l.k{stroke:#cc6600;stroke-dasharray:5 4}
b.q{font-variant-numeric:tabular-nums;background:#fff3dc;border-radius:4px;padding:0 .25em;font-weight:600}
details{font-size:.82em;margin-bottom:12px}summary{cursor:pointer;color:#1f62b0}
.t{overflow-x:auto}table{border-collapse:collapse;font:12px ui-monospace,Consolas,monospace}
td,th{padding:2px 6px;border:1px solid #e1e5ea;text-align:right;white-space:nowrap}td.on{background:#fff3dc}
footer{border-top:1px solid #d5dae0;padding-top:12px;font-size:.82em;color:#5b6470}
@media print{body{font-size:11pt}main{max-width:none;padding:0}.step{break-inside:avoid}.show+label,.show{display:none}
.show:not(:checked)~.answer{display:block}*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)";

/// Hatching for masked cells, used by every picture of the page.
constexpr std::string_view kHatching =
    R"svg(<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs><pattern id="hatch" width="5" height="5" )svg"
    R"svg(patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="5" height="5" fill="#f4f5f7"/>)svg"
    R"svg(<line x1="0" y1="0" x2="0" y2="5" stroke="#c3cad2" stroke-width="1.4"/></pattern></defs></svg>)svg";

/// What a step shows, once it is computed.
struct ShownStep {
    Session& session;
    const Look& look;
    std::shared_ptr<const Snapshot> snapshot;
    const Trace<float>& trace() const { return *snapshot->trace; }
};

std::vector<std::string> names_of(const Snapshot& snapshot, const StageId& id, Axis axis, std::int64_t sequence, std::int64_t count) {
    std::vector<std::string> names;
    if (axis == Axis::V) {
        for (std::int64_t i = 0; i < count; ++i) names.push_back(snapshot.vocabulary[static_cast<std::size_t>(i)]);
        return names;
    }
    if (axis != Axis::T && axis != Axis::S) return names;
    const bool source = id.stack == Stack::Encoder || (axis == Axis::S && id.attention == kCrossAttention);
    const auto& texts = source ? snapshot.source_tokens : snapshot.tokens;
    const std::vector<Token>& tokens = texts.at(static_cast<std::size_t>(sequence));
    for (std::int64_t i = 0; i < count; ++i) {
        const bool known = i < std::ssize(tokens);
        names.push_back(!known || tokens[static_cast<std::size_t>(i)].padding ? "pad" : tokens[static_cast<std::size_t>(i)].text);
    }
    return names;
}

std::optional<std::int64_t> chosen_on(const Look& look, Axis axis, std::int64_t count) {
    for (const auto& [on, index] : look.cell)
        if (on == axis && index < count) return index;
    return std::nullopt;
}

/// Every state has gradients of its own.
std::shared_ptr<const GradientTrace<float>> gradients_of(Session& session, const StateRef& state) {
    const auto answer = session.compute(state, facet::Gradients{});
    if (!answer) throw Error(answer.problem);
    return answer.value;
}

/// A slice of a stage.
PageMap map_of(const ShownStep& step, const StageId& id, std::int64_t sequence, std::int64_t head, const Snapshot& snapshot) {
    const Trace<float>& trace = *snapshot.trace;
    const bool of_heads = has_heads(trace.shape_of(id));
    std::shared_ptr<const GradientTrace<float>> gradients;
    if (step.look.gradients) gradients = gradients_of(step.session, snapshot.state);
    const TensorChoice choice{id, sequence, of_heads ? std::optional(head) : std::nullopt, gradients != nullptr, ""};
    const Tensor<float> values = chosen_tensor(snapshot, choice, gradients.get());
    const Shape& shape = values.shape();
    const int last = shape.rank() - 1;
    PageMap map;
    const std::int64_t all_rows = last > 0 ? shape[last - 1].size : 1, all_cols = shape[last].size;
    map.rows = std::min(all_rows, kMostLines);
    map.cols = std::min(all_cols, kMostLines);
    map.all_rows = all_rows;
    map.all_cols = all_cols;
    const RecordedStage<float>* stage = trace.find(id);
    const Mask* mask = stage != nullptr ? stage->mask.get() : nullptr;
    for (std::int64_t r = 0; r < map.rows; ++r)
        for (std::int64_t c = 0; c < map.cols; ++c) {
            map.values.push_back(values.values()[static_cast<std::size_t>(r * all_cols + c)]);
            if (mask != nullptr) map.masked.push_back(mask->may_attend(sequence, head, r, c) ? 0 : 1);
        }
    if (last > 0) {
        map.row_names = names_of(snapshot, id, shape[last - 1].axis, sequence, map.rows);
        map.row = chosen_on(step.look, shape[last - 1].axis, map.rows);
    }
    map.col_names = names_of(snapshot, id, shape[last].axis, sequence, map.cols);
    map.col = chosen_on(step.look, shape[last].axis, map.cols);
    map.is_share = !step.look.gradients && has_probabilities(id.stage);
    return map;
}

/// What of a large matrix is drawn: " (the first 200 of 512 rows)"; "" if all is.
std::string drawn_part(const PageMap& map) {
    std::string words;
    if (map.rows < map.all_rows) words = fmt::format("the first {} of {} rows", map.rows, map.all_rows);
    if (map.cols < map.all_cols) words += fmt::format("{}the first {} of {} columns", words.empty() ? "" : ", ", map.cols, map.all_cols);
    return words.empty() ? "" : " (" + words + ")";
}

std::string figure_of(const PageMap& map, const std::string& title, double cell = 34) {
    const std::string words = title + drawn_part(map);
    return fmt::format("<figure>{}<figcaption>{}</figcaption></figure>", map_svg(map, words, cell), html_text(words));
}

/// Encoder and decoder have stages of the same names; other models have one stack, which needs no name.
std::string place_words(const StageId& id, std::int64_t head, bool of_heads) {
    const char* stack = id.stack == Stack::Encoder ? "encoder " : id.stack == Stack::Decoder ? "decoder " : "";
    std::string words = stack + stage_name(id);
    std::replace(words.begin(), words.end(), '_', ' ');
    if (id.layer >= 0) words += fmt::format(", layer {}", id.layer);
    return of_heads ? fmt::format("{}, head {}", words, head) : words;
}

/// The stage with its numbers in a table.
std::string stage_figure(const ShownStep& step) {
    const StageId& id = step.look.stage;
    const PageMap map = map_of(step, id, step.look.sequence, step.look.head, *step.snapshot);
    const std::string title =
        place_words(id, step.look.head, has_heads(step.trace().shape_of(id))) + (step.look.gradients ? ", gradients" : "");
    std::string out = figure_of(map, title);
    if (map.rows * map.cols <= kMostInTable)
        out += fmt::format("<details><summary>The numbers of this picture</summary><div class=\"t\">{}</div></details>", map_table(map));
    return out;
}

/// The state A that the step compares with; null for another place of the same state. Throws Error where a page has no such state.
StateRef other_state(const ShownStep& step) {
    const States& states = step.session.states();
    switch (step.look.compare) {
    case Compare::Plain:
        return states.unedited;
    case Compare::Unmasked:
        return states.unmasked;
    case Compare::Correct:
        return states.correct;
    case Compare::Pinned:
    case Compare::PinnedB:
        throw Error("a page cannot show what is pinned");
    default:
        return nullptr;
    }
}

/// B, A and their difference.
std::string compared_figures(const ShownStep& step) {
    const Look& look = step.look;
    std::shared_ptr<const Snapshot> other = step.snapshot;
    if (const StateRef state = other_state(step)) {
        const auto answer = step.session.compute(state, facet::Trace{});
        if (!answer) throw Error(answer.problem);
        other = answer.value;
    }
    StageId there = look.stage;
    if (look.compare_layer) there.layer = static_cast<int>(*look.compare_layer);
    const PageMap b = map_of(step, look.stage, look.sequence, look.head, *step.snapshot);
    const PageMap a = map_of(step, there, look.compare_sequence.value_or(look.sequence), look.compare_head.value_or(look.head), *other);
    std::string out = "<div class=\"many\">" + figure_of(b, "B: what is shown", kSmallCell) + figure_of(a, "A: compared with", kSmallCell);
    if (a.rows == b.rows && a.cols == b.cols) {
        PageMap change = b;
        change.is_share = false;
        for (std::size_t i = 0; i < change.values.size(); ++i) change.values[i] -= a.values[i];
        out += figure_of(change, "B − A", kSmallCell);
    }
    return out + "</div>";
}

/// Maps of many heads: of one layer, or of all.
std::string head_figures(const ShownStep& step, bool all_layers) {
    const Look& look = step.look;
    std::string out = "<div class=\"many\">";
    for (const PlanNode& node : step.trace().plan->nodes()) {
        const Stage wanted = is_attention_map(look.stage.stage) ? look.stage.stage : Stage::Weights;
        const bool here =
            node.id.layer == look.stage.layer && node.id.stack == look.stage.stack && node.id.attention == look.stage.attention;
        if (node.id.stage != wanted || (!all_layers && !here)) continue;
        for (std::int64_t head = 0; head < step.trace().config.num_heads; ++head)
            out += figure_of(map_of(step, node.id, look.sequence, head, *step.snapshot), place_words(node.id, head, true),
                             all_layers ? kTinyCell : kSmallCell);
    }
    return out + "</div>";
}

std::string totals_figure(const ShownStep& step) {
    const Look& look = step.look;
    const std::int64_t last = step.trace().config.layers_of(look.stage.stack) - 1, layer = std::min(look.up_to.value_or(last), last);
    const auto slice = step.session.get(
        facet::TotalsSlice{.rollout = look.rollout, .at = {look.stage.stack, static_cast<std::size_t>(layer), look.sequence}});
    PageMap map;
    map.rows = map.cols = step.trace().tokens_of(look.stage.stack).length;
    map.values = slice->values;
    for (const std::uint8_t keep : slice->keep) map.masked.push_back(keep == 0 ? 1 : 0);
    map.row_names = map.col_names = names_of(*step.snapshot, {Stage::Weights, 0, look.stage.stack}, Axis::T, look.sequence, map.rows);
    map.row = chosen_on(look, Axis::T, map.rows);
    map.col = chosen_on(look, Axis::S, map.cols);
    map.is_share = true;
    return figure_of(map, fmt::format("{}, layers 0 to {}", look.rollout ? "Totals (rollout)" : "Totals (mean)", layer));
}

/// What the step's knock-out view asks.
KnockOutQuestion question_of(const ShownStep& step) {
    const Look& look = step.look;
    KnockOutQuestion question{.counted = step.snapshot->asked, .text = look.sequence, .parts = look.replaced};
    if (look.replaced_from) question.patch = KnockOutQuestion::Patch{*look.replaced_from, look.sequence};
    if (look.measure == AnswerMeasure::Loss) return question;
    const TokenBatch& tokens = step.trace().tokens;
    const std::int64_t length = tokens.lengths[static_cast<std::size_t>(look.sequence)];
    const std::int64_t position = chosen_on(look, Axis::T, length).value_or(std::max<std::int64_t>(length - 2, 0));
    const std::int64_t next = std::min(position + 1, length - 1);
    const std::int64_t token = chosen_on(look, Axis::V, step.trace().config.vocab_size)
                                   .value_or(tokens.ids[static_cast<std::size_t>(look.sequence * tokens.length + next)]);
    question.place = KnockOutQuestion::Place{look.sequence, position, static_cast<std::int32_t>(token),
                                             look.measure == AnswerMeasure::LogitDifference ? look.against : std::nullopt};
    question.counted.clear();
    question.text.reset();
    return question;
}

/// What is measured, and what the colours say of it: orange is a part that helps, as in the window.
std::string knock_out_words(const KnockOutQuestion& question, double with_all) {
    const AnswerMeasure measure = question.measure();
    const bool loss = measure == AnswerMeasure::Loss;
    const char *worse = loss ? "rises" : "falls", *better = loss ? "falls" : "rises";
    const std::string_view name = kMeasureNames[static_cast<std::size_t>(measure)];
    if (question.patch)
        return fmt::format("Change of the {} with each part taken from text {}; with nothing replaced: {:.4f}. Orange: it {}, so the "
                           "part’s own numbers help. Blue: it {}.",
                           name, question.patch->from + 1, with_all, worse, better);
    return fmt::format("Change of the {} without each part; with all: {:.4f}. Orange: it {} without the part, which helps. Blue: it {}; "
                       "the part hurts.",
                       name, with_all, worse, better);
}

std::string knock_out_figure(const ShownStep& step) {
    const KnockOutQuestion question = question_of(step);
    const auto result = step.session.get(facet::KnockOut{question});
    PageMap map;
    map.rows = result->grid.rows;
    map.cols = result->grid.columns;
    map.values = result->grid.changes;
    for (const std::uint8_t measured : result->grid.measured) map.masked.push_back(measured == 0 ? 1 : 0);
    for (std::int64_t row = 0; row < map.rows; ++row) map.row_names.push_back(fmt::format("row {}", row));
    for (const PartWorth& part : result->parts)
        if (part.stage.layer >= 0) map.row_names[static_cast<std::size_t>(part.row)] = fmt::format("layer {}", part.stage.layer);
    map.turned = question.measure() != AnswerMeasure::Loss;
    return figure_of(map, knock_out_words(question, result->with_all), 60);
}

/// What each layer would say if it were the last one.
std::string lens_figure(const ShownStep& step) {
    const auto reading = step.session.get(facet::Lens{});
    if (!reading->lens) return "";
    const LogitLens& lens = *reading->lens;
    const auto columns = names_of(*step.snapshot, lens.stages.front(), Axis::T, step.look.sequence, lens.positions);
    std::string table = "<figure><div class=\"t\"><table><tr><th></th>";
    for (const std::string& name : columns) table += "<th>" + html_text(name) + "</th>";
    for (std::size_t row = 0; row < lens.stages.size(); ++row) {
        table += fmt::format("</tr><tr><th>{}</th>", row == 0 ? "embedding" : fmt::format("layer {}", row - 1));
        for (std::int64_t t = 0; t < lens.positions; ++t) {
            const LensCell& cell = lens.at(row, step.look.sequence, t);
            table += cell.count == 0 ? "<td></td>"
                                     : fmt::format("<td>{} {:.2f}</td>",
                                                   html_text(step.snapshot->vocabulary[static_cast<std::size_t>(cell.top[0].token)]),
                                                   cell.top[0].probability);
        }
    }
    return table + "</tr></table></div><figcaption>Lens: the guess of each layer and its probability</figcaption></figure>";
}

std::string training_figure(const ShownStep& step) {
    const TrainingReport& training = step.session.training();
    if (training.runs.empty()) return "";
    PageCurve loss{"loss", {}}, held_out{"held-out loss", {}, true};
    for (const LossPoint& point : training.runs.back().losses) loss.points.emplace_back(point.step, point.loss);
    for (const ValidationPoint& point : training.runs.back().validations) held_out.points.emplace_back(point.step, point.loss);
    return fmt::format("<figure>{}<figcaption>Loss by step</figcaption></figure>", curves_svg({loss, held_out}, "Loss by step"));
}

std::string pictures(const ShownStep& step) {
    if (step.look.compare != Compare::Off && is_attention_map(step.look.stage.stage)) return compared_figures(step);
    switch (step.look.view) {
    case View::Heads:
    case View::Grid:
        return head_figures(step, step.look.view == View::Grid);
    case View::Totals:
        return totals_figure(step);
    case View::KnockOut:
        return knock_out_figure(step);
    case View::Lens:
        return lens_figure(step);
    case View::Train:
        return training_figure(step) + stage_figure(step);
    default:
        return stage_figure(step);
    }
}

/// Plain text with the quoted numbers marked.
std::string caption_html(const Caption& caption, const Snapshot& snapshot, const TrainingReport& training) {
    std::string out;
    for (const CaptionPart& part : caption)
        out += part.quote ? "<b class=\"q\">" + html_text(quoted(*part.quote, snapshot, training).value_or("…")) + "</b>"
                          : html_text(part.text);
    return out;
}

/// The question; its answer comes with the picture, on demand, and in print always.
std::string question_html(const LessonQuestion& question, std::size_t number) {
    std::string out = "<div class=\"ask\"><p>" + html_text(question.text) + "</p><ul>";
    for (const LessonAnswer& answer : question.answers) out += "<li>" + html_text(answer.text) + "</li>";
    return out + fmt::format("</ul></div><input type=\"checkbox\" class=\"show\" id=\"a{0}\"><label for=\"a{0}\">Show the answer</label>",
                             number);
}

/// A run that cannot start leaves the one before it current, and one that would learn nothing on its way to this step stays paused: then
/// nothing would ever change again. Throws Error with the reason.
void expect_started(Session& session, const RunStatus& before) {
    const auto is_refused = [&](const RunStatus& now) { return now.notices != before.notices && now.refused; };
    const auto is_idle = [](const RunStatus& now) { return now.phase == TrainingPhase::Paused && !now.message.empty(); };
    const auto is_stuck = [&](const RunStatus& now) {
        return now.run == before.run && now.serial != before.serial &&
               (now.phase == TrainingPhase::Failed || is_refused(now) || is_idle(now));
    };
    if (!is_stuck(*session.training().status)) return;
    // The run before may have failed, or have refused these settings; that of the step may still be about to start.
    session.wait_for_training();
    const RunStatus& now = *session.training().status;
    if (is_stuck(now)) throw Error(is_refused(now) ? now.notice : now.message);
}

/// Brings the session to the step. Throws Cancelled, and Error if its run cannot start or go on.
void bring_to(Session& session, const LessonStep& step, const WriteWatch& watch) {
    constexpr auto kPause = std::chrono::milliseconds(5);
    LessonGoal goal(step);
    goal.allow();
    session.update();
    const std::shared_ptr<const RunStatus> before = session.training().status;
    const auto trains = [&] { return step.training && session.training().status->phase == TrainingPhase::Running; };
    while (!goal.done() || trains()) {
        watch.expect_wanted();
        const std::vector<Command> commands = goal.next(session.document(), session.training());
        if (!goal.done()) expect_started(session, *before);
        for (const Command& command : commands) session.apply(command);
        if (!goal.done() || trains()) std::this_thread::sleep_for(kPause);
        session.update();
    }
    session.wait_for_training();
    expect_started(session, *before);
}

std::string step_html(Session& session, const LessonStep& step, std::size_t number, const WriteWatch& watch) {
    bring_to(session, step, watch);
    const ShownStep shown{session, step.look, session.wait()};
    if (!shown.snapshot->problem.empty()) throw Error(shown.snapshot->problem);
    const TrainingReport& training = session.training();
    std::string out = fmt::format("<section class=\"step\"><h2><span>{}</span>{}</h2>", number, html_text(step.title));
    if (step.question) {
        out += question_html(*step.question, number) + "<div class=\"answer\">";
        if (const auto right = right_answer(*step.question, *shown.snapshot, training))
            out += "<p><strong>" + html_text(step.question->answers[*right].text) + "</strong></p>";
    }
    out += "<p>" + caption_html(step.caption, *shown.snapshot, training) + "</p>";
    if (const std::string missing = missing_moment(step, *training.status); !missing.empty()) out += "<p>" + html_text(missing) + "</p>";
    out += pictures(shown);
    return out + (step.question ? "</div></section>\n" : "</section>\n");
}

}  // namespace

std::string lesson_page(const Lesson& lesson, const WriteWatch& watch) {
    std::string page = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                       "content=\"width=device-width, initial-scale=1\"><title>" +
                       html_text(lesson.title) + "</title><style>" + std::string(kStyle) + "</style></head><body>" +
                       std::string(kHatching) + "<main><header><h1>" + html_text(lesson.title) + "</h1><p>" + html_text(lesson.summary) +
                       "</p></header>\n";
    Session session(lesson.steps.front().document, [] {});
    for (std::size_t i = 0; i < lesson.steps.size(); ++i) {
        watch.at(i, lesson.steps.size());
        page += step_html(session, lesson.steps[i], i + 1, watch);
    }
    return page +
           "<footer>Every number on this page was computed by attnscope from the lesson’s own models.</footer></main></body></html>\n";
}

void write_lesson_page(const std::filesystem::path& path, const Lesson& lesson, const WriteWatch& watch) {
    write_whole_file(path, lesson_page(lesson, watch));
}

}  // namespace attn::app
