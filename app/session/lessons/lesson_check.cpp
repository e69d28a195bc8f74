#include "app/session/lessons/lesson_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "app/session/document/document_error.hpp"
#include "app/session/document/prepare.hpp"
#include "app/session/facets/recorded_snapshot.hpp"
#include "app/session/lessons/lesson_goal.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/json_lines.hpp"
#include "engine/model/transformer.hpp"
#include "engine/ops/parallel.hpp"
#include "engine/plan/stage_list.hpp"
#include "engine/train/training_run.hpp"

namespace attn::app {
namespace {

constexpr double kMostRecordedMib = 64;

/// The field of the lesson file that a document error refers to.
std::string_view field_name(Field field) {
    switch (field) {
    case Field::Texts:
        return "texts";
    case Field::SourceTexts:
        return "source_texts";
    case Field::None:
    case Field::Window:
    case Field::Prefix:
    case Field::Block:
    case Field::Painted:
    case Field::Temperature:
    case Field::AttentionDropout:
    case Field::ResidualDropout:
    case Field::EmbeddingDropout:
        return "forward";
    default:
        return "config";
    }
}

/// A computed document.
struct Computed {
    Document document;
    Snapshot snapshot;
};

/// The parameters of the embedded model used by the example, otherwise freshly initialised ones.
std::shared_ptr<const Parameters<float>> parameters_of(const Document& document, const Config& config) {
    if (document.shipped == nullptr) return std::make_shared<const Parameters<float>>(initial_parameters<float>(config));
    return parameters_for(document, config, document.shipped->checkpoint.parameters);
}

Computed compute(Document document, std::shared_ptr<const Parameters<float>> parameters) {
    if (document.recorded) {
        Snapshot snapshot = recorded_snapshot(*document.recorded, document.forward.edits, kMostRecordedMib);
        return {std::move(document), std::move(snapshot)};
    }
    Prepared prepared = prepare(document);
    parameters = parameters == nullptr ? parameters_of(document, prepared.config) : parameters_for(document, prepared.config, parameters);
    Computed computed;
    computed.snapshot.trace = std::make_shared<const Trace<float>>(
        trace_forward<float>(std::move(parameters), prepared.tokens, prepared.source, document.forward));
    computed.snapshot.tokens = std::move(prepared.chips);
    computed.snapshot.source_tokens = std::move(prepared.source_chips);
    computed.snapshot.vocabulary = std::move(prepared.vocabulary);
    computed.document = std::move(document);
    return computed;
}

/// A step's run before its first training step.
struct FreshRun {
    RunSettings settings;
    RunStatus status;
};

FreshRun begin(const RunSettings& settings) {
    TrainingRun run(settings);
    FreshRun fresh{settings, {}};
    const Tokenizer& tokenizer = run.dataset().tokenizer();
    fresh.status.run = 1;
    fresh.status.settings = run.settings();
    fresh.status.parameters = run.keep().parameters;
    fresh.status.vocabulary = tokenizer.vocabulary();
    fresh.status.tokenizer = tokenizer.kind();
    fresh.status.special_tokens = tokenizer.has_special_tokens();
    fresh.status.probe = run.dataset().probe();
    fresh.status.probe_source = run.dataset().probe_source();
    return fresh;
}

/// Checks the steps in order; reuses the results of the previous step if nothing has changed.
class Checker {
public:
    explicit Checker(std::string_view source) : source_(source) {}

    void check(const LessonStep& step, std::size_t place) {
        step_ = &step;
        place_ = place;
        show();
        check_document();
        check_stage();
        check_indices();
        check_cell();
        check_view();
        check_totals();
        check_knock_out();
        check_gradients();
        check_comparison();
        check_caption();
        check_claims();
        check_question();
    }

private:
    [[noreturn]] void fail(std::string_view field, const std::string& problem) const {
        throw FileError(FileFault::Range, source_, fmt::format("/steps/{}/{}", place_, field), problem);
    }
    const Look& look() const { return step_->look; }
    const Trace<float>& trace() const { return *shown_->snapshot.trace; }
    const Shape& shape() const { return trace().find(look().stage)->value.shape(); }

    void take_up_run();
    void show();
    void check_document();
    void check_stage();
    void check_indices();
    void check_cell();
    void check_view();
    void check_totals();
    void check_knock_out();
    void check_gradients();
    void check_comparison();
    void check_caption();
    void expect_quotable(const Claim& claim, const std::string& field) const;
    void check_claims();
    void check_question();

    std::string_view source_;
    const LessonStep* step_ = nullptr;
    std::size_t place_ = 0;
    std::optional<FreshRun> run_;
    std::optional<Computed> shown_;
};

void Checker::take_up_run() {
    if (!step_->training) return;
    const RunSettings& wanted = step_->training->run;
    if (!run_ || !same_model(run_->settings, wanted)) run_ = begin(wanted);
    run_->status.settings.train = wanted.train;
}

/// Computes what the step shows, unless it is the same as in the previous step.
void Checker::show() {
    try {
        take_up_run();
    } catch (const Error& error) {
        fail("training", error.what());
    }
    Document document = shown_document(*step_, step_->training ? run_->status : RunStatus());
    const bool fresh = !step_->training || (shown_ && shown_->snapshot.trace->parameters == run_->status.parameters);
    if (shown_ && fresh && shown_->document == document) return;
    try {
        shown_ = compute(std::move(document), step_->training ? run_->status.parameters : nullptr);
    } catch (const DocumentError& error) {
        fail(field_name(error.field()), error.what());
    } catch (const ConfigError& error) {
        fail("forward", error.what());
    }
    if (step_->training) shown_->snapshot.trained_step = 0;
}

void Checker::check_document() {
    const bool encoder = trace().config.architecture == Architecture::EncoderDecoder;
    if (step_->said.contains("source_texts") && !encoder) fail("source_texts", "this model has no encoder to read them");
    const std::int64_t positions = trace().tokens.length;
    for (const PaintedCell& cell : trace().settings.masks.painted)
        if (cell.query >= positions || cell.key >= positions)
            fail("forward/masks/painted",
                 fmt::format("there is no cell [{}, {}]: the text has {} tokens", cell.query, cell.key, positions));
    const std::vector<IdleEdit> idle = idle_edits(trace());
    if (!idle.empty()) fail(fmt::format("forward/edits/{}", idle.front().place), "this edit changes nothing: " + idle.front().why);
}

void Checker::check_stage() {
    if (trace().find(look().stage) != nullptr) return;
    const std::int64_t layers = trace().config.layers_of(look().stage.stack);
    if (look().stage.layer >= layers)
        fail(step_->said.contains("stage") && !step_->said.contains("layer") ? "stage" : "layer",
             fmt::format("there is no layer {}: the model has {}", look().stage.layer, layers));
    fail("stage", fmt::format("this model has no stage {}; it has {}", tensor_name(look().stage), stages_of(*trace().plan)));
}

void Checker::check_indices() {
    const std::int64_t heads = trace().config.num_heads, texts = trace().tokens.size();
    if (look().head >= heads) fail("head", fmt::format("there is no head {}: the model has {}", look().head, heads));
    if (look().sequence >= texts) fail("sequence", fmt::format("there is no text {}: there are {}", look().sequence, texts));
}

/// Inherited indices may name axes that a later step's stage lacks, just as when the user steps on with a cell selected.
void Checker::check_cell() {
    const bool said = step_->said.contains("cell"), maps = look().view != View::Step;
    const RecordedStage<float>* map = trace().find({Stage::Weights, 0, look().stage.stack});
    for (const auto& [axis, index] : look().cell) {
        const Shape* where = shape().has(axis)                                        ? &shape()
                             : maps && map != nullptr && map->value.shape().has(axis) ? &map->value.shape()
                                                                                      : nullptr;
        const std::string field = fmt::format("cell/{}", axis_letter(axis));
        if (where == nullptr && said) fail(field, fmt::format("{} {} has no such axis", tensor_name(look().stage), shape().text()));
        if (where != nullptr && index >= where->size_of(axis))
            fail(field, fmt::format("there is no {} {}: {} is {}", axis_letter(axis), index, tensor_name(look().stage), where->text()));
    }
}

void Checker::check_view() {
    const View view = look().view;
    const bool maps = view == View::Heads || view == View::Grid;
    const bool attention = maps || view == View::Lines || view == View::Totals || view == View::KnockOut;
    if (attention && trace().config.num_layers == 0) fail("view", "this model has no layer and so no attention");
    if ((view == View::Lens || view == View::KnockOut || view == View::Write) && !trace().config.lm_head)
        fail("view", "a model without an output head predicts nothing");
    if (maps && step_->said.contains("stage") && !is_attention_map(look().stage.stage))
        fail("stage", fmt::format("the view {} shows attention maps (scores, scaled, masked, weights, dropped), not {}",
                                  view_info(view).name, stage_name(look().stage)));
}

void Checker::check_totals() {
    const std::int64_t layers = trace().config.most_layers();
    if (step_->said.contains("totals_layer") && look().up_to >= layers)
        fail("totals_layer", fmt::format("there is no layer {}: the model has {}", *look().up_to, layers));
}

void Checker::check_knock_out() {
    if (step_->said.contains("replaced") && at_positions(look().replaced) && !look().replaced_from)
        fail("replaced", "positions are taken from another text: name it in \"replaced_from\"");
    if (const std::int64_t tokens = trace().config.vocab_size; step_->said.contains("against") && look().against >= tokens)
        fail("against", fmt::format("there is no token {}: the vocabulary has {}", *look().against, tokens));
    if (look().view != View::KnockOut || !look().replaced_from) return;
    const std::int64_t texts = trace().tokens.size(), from = *look().replaced_from;
    if (from >= texts) fail("replaced_from", fmt::format("there is no text {}: there {} {}", from, texts == 1 ? "is" : "are", texts));
    if (from == look().sequence) fail("replaced_from", "a text cannot be replaced by itself");
}

void Checker::check_gradients() {
    if (!look().gradients) return;
    if (!shows_maps(look().view) && step_->said.contains("gradients"))
        fail("gradients", "only the views step, heads and grid show gradients");
    const std::vector<std::int64_t>& lengths = trace().tokens.lengths;
    if (!trace().config.lm_head) fail("gradients", "a model without an output head predicts nothing: it has no loss");
    if (std::none_of(lengths.begin(), lengths.end(), [](std::int64_t length) { return length > 1; }))
        fail("gradients", "a text of one token has no next token: there is no loss");
    if (look().stage.stage == Stage::Tokens) fail("gradients", "the loss has no gradient with respect to tokens");
}

void Checker::check_comparison() {
    if (look().compare != Compare::Off && step_->document.recorded) fail("compare", "a recording is not computed again");
    if (look().compare != Compare::Unmasked) return;
    const Trace<float> unmasked =
        trace_forward<float>(trace().parameters, trace().tokens, trace().source_tokens, without_masks(trace().settings));
    const bool same = std::equal(trace().stages.begin(), trace().stages.end(), unmasked.stages.begin(), unmasked.stages.end(),
                                 [](const auto& a, const auto& b) {
                                     const auto left = a.value.values(), right = b.value.values();
                                     return std::equal(left.begin(), left.end(), right.begin(), right.end());
                                 });
    if (same) fail("compare_unmasked", "there is nothing to compare: without masks every number is the same");
}

void Checker::check_caption() {
    for (const CaptionPart& part : step_->caption) {
        if (!part.quote) continue;
        const std::string why = why_unquotable(*part.quote, shown_->snapshot);
        if (!why.empty()) fail("caption", fmt::format("{{{}}}: {}", escaped(part.quote->source), why));
    }
}

void Checker::expect_quotable(const Claim& claim, const std::string& field) const {
    const std::string why = why_unquotable(claim, shown_->snapshot);
    if (!why.empty()) fail(field, fmt::format("\"{}\": {}", escaped(claim.source), why));
}

void Checker::check_claims() {
    for (std::size_t i = 0; i < step_->claims.size(); ++i) {
        const Claim& claim = step_->claims[i];
        const std::string field = fmt::format("claims/{}", i);
        expect_quotable(claim, field);
        if (step_->training || holds(claim, shown_->snapshot, {}).value_or(false)) continue;
        fail(field, "this is not true: " + claim_words(claim, shown_->snapshot, {}));
    }
}

void Checker::check_question() {
    if (!step_->question) return;
    const std::vector<LessonAnswer>& answers = step_->question->answers;
    std::string found;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        expect_quotable(answers[i].when, fmt::format("ask/answers/{}/when", i));
        found += (found.empty() ? "" : "; ") + claim_words(answers[i].when, shown_->snapshot, {});
    }
    if (step_->training || right_answer(*step_->question, shown_->snapshot, {})) return;
    fail("ask/answers", "expected exactly one answer to be right: " + found);
}

}  // namespace

void check_lesson(const Lesson& lesson, std::string_view source) {
    const ThreadScope one_thread(1);  // lesson models are so small that starting a team of threads takes longer than the work
    Checker checker(source);
    for (std::size_t i = 0; i < lesson.steps.size(); ++i) checker.check(lesson.steps[i], i);
}

Lesson read_lesson(std::string_view json, std::string_view source) {
    return telling_lines(json, source, [&] {
        Lesson lesson = parse_lesson(json, source);
        check_lesson(lesson, source);
        return lesson;
    });
}

}  // namespace attn::app
