#include "app/cli/view_options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "app/panels/compare/comparison.hpp"
#include "app/panels/kit/look.hpp"
#include "app/panels/views/knock_out_parts.hpp"
#include "app/session/document/knock_out_names.hpp"
#include "engine/io/file_error.hpp"
#include "engine/plan/stage_list.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {
namespace {

void expect_below(const char* what, std::int64_t index, std::int64_t count) {
    if (index < 0 || index >= count)
        throw Error(count == 1 ? fmt::format("there is no {0} {1}: the only {0} is 0", what, index)
                               : fmt::format("there is no {0} {1}: the model has {2}, {0} 0 to {3}", what, index, count, count - 1));
}

void set_comparison(const ViewOptions& options, const Trace<float>& trace, ViewState& view) {
    Comparison& compare = view.compare;
    if (options.compare_layer) expect_below("layer", *options.compare_layer, trace.config.layers_of(view.stage.stack));
    if (options.compare_head) expect_below("head", *options.compare_head, trace.config.num_heads);
    if (options.compare_text) expect_below("text", *options.compare_text, trace.tokens.size());
    compare.layer = options.compare_layer;
    compare.head = options.compare_head;
    compare.batch = options.compare_text;
    const bool elsewhere = compare.layer || compare.head || compare.batch;
    if (options.compare == "unmasked") compare.choose(Compare::Unmasked);
    else if (options.compare == "unedited") compare.choose(Compare::Plain);
    else if (options.compare == "correct") compare.choose(Compare::Correct);
    else if (options.compare == "pinned") compare.choose(Compare::Pinned);
    else if (options.compare_step) compare.choose(Compare::Moment);
    else if (options.compare == "itself" || elsewhere) compare.choose(Compare::Itself);
    if (compare.on() && !draws_comparison(view.view))
        throw Error("nothing is compared in this view: --compare needs --view step, heads, grid, lines, totals or lens");
    if (options.compare_as == "side" && view.view != View::Step && view.view != View::Totals)
        throw Error("--compare-as side needs --view step or totals");
    compare.layout = options.compare_as == "side"         ? CompareLayout::SideBySide
                     : options.compare_as == "difference" ? CompareLayout::Difference
                                                          : CompareLayout::All;
}

std::int64_t shown_text(const ViewState& view, const Trace<float>& trace) {
    return std::clamp<std::int64_t>(view.batch, 0, trace.tokens.size() - 1);
}

std::int64_t length_of(std::int64_t text, const Trace<float>& trace) { return trace.tokens.lengths[static_cast<std::size_t>(text)]; }

/// The value of an enumeration whose names in order are given.
template <class Enum>
Enum named_in(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

void set_knock_out(const ViewOptions& options, const Trace<float>& trace, ViewState& view) {
    KnockOutState& state = view.knock_out;
    // The question is about the end of the text, wherever its example looks.
    const std::int64_t shown = shown_text(view, trace);
    const bool asks_a_place = options.replace_from || !options.token.empty() || !options.against.empty() ||
                              (!options.measure.empty() && options.measure != kMeasureNames.front());
    if (asks_a_place && !options.position) view.locked.set(Axis::T, std::max<std::int64_t>(length_of(shown, trace) - 1, 0));
    const bool asks = !options.token.empty() || !options.against.empty();
    if (options.measure.empty() && options.replace.empty() && !options.replace_from && !asks) return;
    if (view.view != View::KnockOut) throw Error("--measure, --token, --against, --replace and --replace-from need --view knock-out");
    if (!options.measure.empty()) state.measure = named_in<AnswerMeasure>(joined_names(kMeasureNames, '-'), options.measure);
    if (asks && state.measure == AnswerMeasure::Loss) throw Error("--token and --against need --measure probability or logit-difference");
    if (!options.against.empty() && state.measure != AnswerMeasure::LogitDifference)
        throw Error("--against needs --measure logit-difference");
    if (!options.replace.empty()) state.parts = named_in<ReplacedParts>(joined_names(kPartNames, '-'), options.replace);
    if (options.replace_from) {
        if (*options.replace_from < 0 || *options.replace_from >= trace.tokens.size())
            throw Error(fmt::format("--replace-from {}: there {} {} {}", *options.replace_from, trace.tokens.size() == 1 ? "is" : "are",
                                    trace.tokens.size() == 1 ? "only" : "texts 0 to",
                                    trace.tokens.size() == 1 ? std::string("one text") : std::to_string(trace.tokens.size() - 1)));
        if (*options.replace_from == shown) throw Error(fmt::format("--replace-from {}: a text cannot be replaced by itself", shown));
        state.from = options.replace_from;
    }
    const std::vector<ReplacedParts> possible = replaceable_parts(trace, state.from.has_value());
    if (std::find(possible.begin(), possible.end(), state.parts) != possible.end()) return;
    // What a document says may fit another text than the one that is given.
    if (options.replace.empty()) state.parts = ReplacedParts::Heads;
    else if (at_positions(state.parts) && !state.from)
        throw Error(fmt::format("--replace {} needs --replace-from: the text whose positions are taken", options.replace));
    else throw Error(fmt::format("--replace {}: this model has no feed-forward network", options.replace));
}

void set_beside(const ViewOptions& options, ViewState& view) {
    if (options.beside.empty()) return;
    if (view.view == View::Precision) view.precision.other = options.beside;
    else if (view.view == View::Step && view.stage.stage == Stage::Tokens) view.token_path.other = options.beside;
    else throw Error("--beside goes with --view precision, or with --view step --stage tokens");
}

/// A person may look for a stage among the views.
std::string why_not_a_view(const std::string& name) {
    const bool stage = !view_from_name(name) && stage_from_name(name);
    return stage ? fmt::format("{0} is a stage: give --stage {0}", name) : "";
}

}  // namespace

StageId named_stage(const std::string& name, std::optional<std::int64_t> layer, const Trace<float>& trace) {
    const auto expect_layer = [&](Stage stage) {
        if (layer && !is_layer_stage(stage)) throw Error(fmt::format("{} belongs to no layer: leave --layer out", escaped(name)));
    };
    const auto expect_known = [&](const StageId& id) {
        for (const LostStage& lost : trace.lost)
            if (lost.id == id) throw Error(fmt::format("there is no {}: {}", tensor_name(id), lost.why));
    };
    const std::optional<StageId> full = stage_from_tensor_name(name);
    if (full) expect_known(*full);
    if (full && trace.plan->find(*full) != nullptr) {
        expect_layer(full->stage);
        if (layer && *layer != full->layer) throw Error(fmt::format("--layer {} contradicts --stage {}", *layer, escaped(name)));
        return *full;
    }
    std::optional<StageId> named = stage_from_name(name);
    if (!named) throw Error(fmt::format("there is no stage \"{}\"; this model has {}", escaped(name), stages_of(*trace.plan)));
    if (layer) expect_below("layer", *layer, trace.config.most_layers());
    expect_layer(named->stage);
    if (layer) named->layer = static_cast<int>(*layer);
    for (const Stack stack : {Stack::Main, Stack::Decoder, Stack::Encoder}) {
        named->stack = stack;
        if (trace.plan->find(*named) != nullptr) return *named;
        expect_known(*named);
    }
    const auto& nodes = trace.plan->nodes();
    if (std::any_of(nodes.begin(), nodes.end(), [&](const PlanNode& node) { return same_role(node.id, *named); }))
        throw Error(fmt::format("layer {} of this model has no stage {}, though others have", named->layer, escaped(name)));
    throw Error(fmt::format("this model has no stage {}; it has {}", escaped(name), stages_of(*trace.plan)));
}

void add_view_options(CliCommand command, ViewOptions& options) {
    std::vector<std::string> names;
    for (const ViewInfo& info : views()) names.emplace_back(info.name);
    command
        .option("--view", options.view,
                "What to show. step: one stage as an equation (default, unless the example has its own view); heads: all heads of a layer; "
                "grid: all layers; lines: weights as lines from token to token; totals: attention over all layers; lens: what each layer "
                "would predict; knock-out: what each head is worth; write: the model's continuation and what may come next; precision: "
                "weights compared with another file's (--beside); train: a training run; doctor: what is wrong")
        .shown_as("VIEW")
        .check(why_not_a_view)
        .one_of(names);
    command.option("--stage", options.stage, "Stage, such as scores, masked or residual_1; weights by default").shown_as("STAGE");
    command.option("--layer", options.layer, "Layer, from 0").shown_as("N");
    command.option("--head", options.head, "Head, from 0").shown_as("N");
    command
        .option("--position", options.position,
                "The selected position of the text, from 0; with --measure probability or logit-difference, the one asked about")
        .shown_as("N");
    command.flag("--gradients", options.gradients,
                 "With --view step, heads or grid: the gradients of the next-token loss instead of the numbers");
    command.flag("--all-layers", options.all_layers, "With --view lines: a small picture of every layer");
    command.flag("--plain-mean", options.plain_mean, "With --view totals: the mean of all maps instead of the rollout");
    command
        .option(
            "--measure", options.measure,
            "With --view knock-out: the change in the loss (default), in the probability of the next word, or in the difference between "
            "its logit and that of the likeliest other answer")
        .shown_as("MEASURE")
        .one_of(joined_names(kMeasureNames, '-'));
    command
        .option("--token", options.token,
                "With --measure probability or logit-difference: this token instead of the next word. If the vocabulary has it with and "
                "without a space before it, the text's own or the likelier one; in double quotes, '\"TOKEN\"' or '\" TOKEN\"', exactly "
                "that one")
        .shown_as("TOKEN");
    command.option("--against", options.against, "With --measure logit-difference: subtract the logit of this token, named in the same way")
        .shown_as("TOKEN");
    command
        .option("--replace", options.replace,
                "With --view knock-out: heads (default), or blocks, each with all that an attention or a feed-forward network adds. With "
                "--replace-from also one position of the stream that enters a layer (positions), or of what is added to it "
                "(attention-positions, feed-forward-positions)")
        .shown_as("PARTS")
        .one_of(joined_names(kPartNames, '-'));
    command
        .option("--replace-from", options.replace_from,
                "With --view knock-out: take the numbers of this text, from 0, instead of zeros (activation patching)")
        .shown_as("N");
    command
        .option("--compare", options.compare,
                "Compare with the state without masks (unmasked), without edits (unedited), without the deliberate mistake "
                "(correct), with the state pinned in the document (pinned), or with another layer, head or text of the same state "
                "(itself)")
        .shown_as("STATE")
        .one_of({"unmasked", "unedited", "correct", "pinned", "itself"});
    command.option("--compare-step", options.compare_step, "Compare with the model of this step of the training run").shown_as("N");
    command
        .option("--compare-as", options.compare_as,
                "How to show both. all (default): both and their difference; side: side by side (--view step or totals); difference")
        .shown_as("LAYOUT")
        .one_of({"all", "side", "difference"});
    command.option("--compare-layer", options.compare_layer, "Layer to compare with, from 0").shown_as("N");
    command.option("--compare-head", options.compare_head, "Head to compare with, from 0").shown_as("N");
    command.option("--compare-text", options.compare_text, "Text to compare with, from 0").shown_as("N");
    command
        .option("--beside", options.beside,
                "With --view precision, another folder or file of the same model; with --stage tokens, another tokenizer")
        .is_path()
        .shown_as("DIR|FILE");
    command.option("--theme", options.theme, "dark (default) or light").shown_as("THEME").one_of({"dark", "light"});
}

ViewState make_view(const ViewOptions& options, const Trace<float>& trace, const std::optional<Look>& look, bool saved) {
    ViewState view;
    view.dark = options.theme == "dark";
    ViewOptions none;
    none.theme = options.theme;
    if (look && (saved || options == none)) turn_to(view, *look);
    if (look && options == none) return view;
    if (!options.view.empty()) view.view = view_from_name(options.view).value();
    if (options.layer) expect_below("layer", *options.layer, trace.config.most_layers());
    const std::int64_t head = options.head.value_or(0);
    expect_below("head", head, trace.config.num_heads);
    const std::string stage = options.stage.empty() ? "weights" : options.stage;
    // Another layer is another one of the saved stage.
    if (saved && options.stage.empty() && options.layer && view.stage.layer >= 0) view.stage.layer = static_cast<int>(*options.layer);
    else if (!saved || !options.stage.empty() || options.layer) view.stage = named_stage(stage, options.layer, trace);
    if (!saved || options.head) view.head = head;
    view.train.own_head = options.layer || options.head;
    if (options.position) {
        const std::int64_t length = length_of(shown_text(view, trace), trace);
        if (*options.position < 0 || *options.position >= length)
            throw Error(fmt::format("there is no position {}: the text has {}, 0 to {}", *options.position, length, length - 1));
        view.locked.set(Axis::T, *options.position);
    }
    if (options.gradients && !trace.config.lm_head) throw Error("a model without an output head predicts nothing: it has no gradients");
    if (options.gradients && !shows_maps(view.view)) throw Error("--gradients needs --view step, heads or grid");
    if (!saved || options.gradients) view.gradients = options.gradients;
    view.lines.all_layers = options.all_layers;
    if (!saved || options.plain_mean) view.totals.rollout = !options.plain_mean;
    if (!saved || !options.compare.empty() || options.compare_step) set_comparison(options, trace, view);
    set_knock_out(options, trace, view);
    set_beside(options, view);
    if (view.view == View::Heads || view.view == View::Grid) {
        if (!is_attention_map(view.stage.stage))
            throw Error(fmt::format("--view {} shows attention maps (scores, scaled, masked, weights, dropped), not {}", options.view,
                                    tensor_name(view.stage)));
        view.heads.stage = view.stage.stage;
    }
    return view;
}

}  // namespace attn::app
