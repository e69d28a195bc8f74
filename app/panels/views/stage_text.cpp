/// The formula and explanation of every stage, one function per operation.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/panels/kit/stage_words.hpp"
#include "app/panels/maps/equation.hpp"
#include "app/widgets/number.hpp"

namespace attn::app {
namespace {

/// A formula in the widgets' markup, and its meaning.
struct Words {
    std::string formula, sentence;
};

Words position_words(const PlanNode& node) {
    return {"P = P[0…T−1]", node.weight.empty() ? "Every position has its own pattern of sines and cosines, the same for every text."
                                                : "Every position has its own learned vector: a row of a table, the same for every text."};
}

Words add_words(PositionKind positions, const PlanNode& node) {
    const bool alone = node.inputs.size() == 1;
    if (is_layer_stage(node.id.stage))
        return alone ? Words{"x = sublayer", "The sublayer's result replaces its input."}
                     : Words{"x = x + sublayer", "The sublayer's result is added to its input, so nothing is lost."};
    const auto& inputs = node.inputs;
    const bool segments = std::any_of(inputs.begin(), inputs.end(), [](const StageId& id) { return id.stage == Stage::SegmentEmbedding; });
    if (segments && inputs.size() == 2) return {"X = E + S", "What the token is plus which part of the text it is in."};
    if (segments) return {"X = E + P + S", "What the token is, plus where it is and which part of the text it is in."};
    if (!alone) return {"X = E + P", "What the token is plus where it is."};
    if (positions == PositionKind::Buckets)
        return {"X = E", "Nothing is added for the position: scores are biased by the distance instead."};
    if (positions == PositionKind::Alibi)
        return {"X = E", "Nothing is added for the position: scores are lowered by the distance instead."};
    return {"X = E", positions == PositionKind::Rotary ? "Nothing is added for the position: queries and keys are rotated by it."
                                                       : "No positions are added: the model cannot know the order."};
}

Words norm_words(const OpSettings& settings) {
    const std::string eps = format_exact(static_cast<float>(settings.eps));
    if (settings.norm_kind != NormKind::LayerNorm) {
        const bool plus_one = settings.norm_kind == NormKind::RmsPlusOne;
        return {plus_one ? "y = (1 + γ) x ÷ √(mean(x²) + ε)" : "y = γ x ÷ √(mean(x²) + ε)",
                fmt::format(
                    "Every row{} is divided by its root mean square (ε = {}), then multiplied by {}. Unlike LayerNorm it keeps its mean.",
                    settings.all_heads ? ", all heads together," : "", eps, plus_one ? "1 + γ" : "γ")};
    }
    return {"y = γ (x − μ) ÷ √(σ² + ε) + β",
            fmt::format("Every row is shifted to mean 0 and scaled to variance 1 (ε = {}), then multiplied by γ and shifted by β.", eps)};
}

/// How many query heads share keys and values; "" if each has its own.
std::string sharing(const Config& config) {
    return config.grouped() ? fmt::format(" {} query heads share each key/value head.", config.group_size()) : "";
}

/// The purpose of a linear map depends on its stage.
Words linear_words(const Config& config, const PlanNode& node) {
    const char* source = node.id.attention == kCrossAttention ? "the memory" : "the input";
    const std::string plus = node.bias.empty() ? "" : " + b";
    switch (linear_map(node.id.stage).value()) {
    case LinearMap::Q:
        return {"Q = X W_Q" + plus, "What each token looks for: its vector times W_Q of this head."};
    case LinearMap::K:
        return {"K = X W_K" + plus,
                fmt::format("What each token offers to be matched by: {} times W_K of this head.{}", source, sharing(config))};
    case LinearMap::V:
        return {"V = X W_V" + plus,
                fmt::format("What each token passes on when attended to: {} times W_V of this head.{}", source, sharing(config))};
    case LinearMap::EmbeddingIn:
        return {"E = vectors W_in" + plus, "The word vectors are narrower than the residual stream; a matrix maps them to its width."};
    case LinearMap::HeadHidden:
        return {"hidden = X W_h" + plus, "Before the output head, each token's vector is mapped once more."};
    case LinearMap::HeadIn:
        return {"out = X W_out" + plus,
                "The output head compares with the word vectors, which are narrower; a matrix maps the residual stream to their width."};
    case LinearMap::AttentionOut:
        return {"out = concat W_O" + plus, "One more matrix mixes the heads' results."};
    case LinearMap::FfnGate:
        return {"gate = X W_g" + plus, "Each token on its own: its activation decides how far each hidden unit opens."};
    case LinearMap::FfnHidden:
        return {"hidden = X W₁" + plus, "Each token on its own: its vector is mapped to a wider one."};
    case LinearMap::FfnOut:
        return {(config.ffn_gated ? "out = gated W₂" : "out = act W₂") + plus, "The active hidden units each add their own vector."};
    case LinearMap::Logits:
        return {node.weight.transposed ? "logits = X W_Eᵀ" : "logits = X W_U",
                "Each token's final vector is compared with every token of the vocabulary."};
    }
    return {};
}

Words rotate_words(const Config& config, const RotaryRule& rule) {
    const std::string part =
        rule.size < config.head_size() ? fmt::format(" Only the first {} dimensions of a head are rotated.", rule.size) : "";
    return {"x′ = x cos θ ∓ x_pair sin θ",
            fmt::format("Each pair of dimensions rotates with the position, the first by one radian per token, later ones more slowly "
                        "(base {:g}{}). How well a query matches a key then depends on how far apart they are.{}",
                        rule.base, rule.stretch.kind == RotaryScaling::None ? "" : ", lowered for long texts", part)};
}

Words scale_words(const Config& config, const OpSettings& settings) {
    const double divisor = 1 / settings.factor, root = std::sqrt(static_cast<double>(config.head_size()));
    if (std::abs(divisor - root) <= 1e-9 * root)
        return {fmt::format("scaled = scores ÷ √{}", config.head_size()),
                "Dot products grow with the number of dimensions; dividing by √d_head keeps the softmax from saturating."};
    if (divisor == 1) return {"scaled = scores", "The scores are not divided."};
    return {fmt::format("scaled = scores ÷ {:g}", divisor), "The scores are divided by a number other than √d_head."};
}

Words mask_words(const MaskSettings& masks, std::int64_t own_window, bool cross) {
    std::string rules;
    const auto add = [&](const std::string& rule) { rules += (rules.empty() ? "" : "; ") + rule; };
    if (masks.causal && !cross)
        add(masks.prefix > 0 ? fmt::format("causal with a prefix of {}", masks.prefix) : "causal: a token attends to itself and the past");
    if (masks.padding) add("no token attends to padding");
    if (own_window > 0) add(fmt::format("this layer has a window of {}, the token itself included", own_window));
    if (masks.window > 0 && !cross) add(fmt::format("window of {}", masks.window));
    if (masks.block > 0 && !cross) add(fmt::format("blocks of {}", masks.block));
    if (!masks.painted.empty() && !cross) add("cells painted by hand");
    return {"masked = scaled, or −∞", rules.empty()
                                          ? "No mask is active: every query may attend to every key."
                                          : "Hatched cells may not be attended to; the softmax never sees them. Active: " + rules + "."};
}

/// A linear map whose rows are cut into heads by a reshape.
Words reshaped_words(const Config& config, const PlanNode& node) {
    Words words = linear_words(config, node);
    words.sentence = "The numbers of all rows, one after another, are read as heads: a head's rows are pieces of neighbouring positions.";
    return words;
}

/// "A = softmax(masked)", or of what comes before where nothing is masked, with the temperature if there is one.
std::string softmax_formula(const ForwardSettings& settings, const PlanNode& node) {
    const std::string before = stage_name({.stage = node.inputs.empty() ? Stage::Masked : node.inputs.front().stage});
    return settings.temperature == 1 ? fmt::format("A = softmax({})", before)
                                     : fmt::format("A = softmax({} ÷ {:g})", before, settings.temperature);
}

Words softmax_words(const ForwardSettings& settings, const PlanNode& node) {
    return {softmax_formula(settings, node),
            "Each row becomes a distribution over the keys: exponentials divided by their sum, so that it sums to 1."};
}

Words dropout_words(double rate) {
    if (rate <= 0) return {"dropped = dropout(A)", "Dropout is off: the weights pass unchanged."};
    return {"dropped = dropout(A)",
            fmt::format("Each weight is set to 0 with probability {:g}; the others are divided by {:g}. So rows no longer sum to 1.", rate,
                        1 - rate)};
}

Words activate_words(Activation activation) {
    constexpr const char* kSmooth = "Negative numbers fade out smoothly, so hidden units can switch off.";
    switch (activation) {
    case Activation::Relu:
        return {"ReLU(x) = max(x, 0)", "Negative numbers become 0, so hidden units can switch off."};
    case Activation::GeluErf:
        return {"GELU(x) = x Φ(x)", kSmooth};
    case Activation::GeluTanh:
        return {"GELU(x) ≈ x Φ(x), by tanh", kSmooth};
    case Activation::Silu:
        return {"SiLU(x) = x σ(x)", kSmooth};
    case Activation::QuickGelu:
        return {fmt::format("QuickGELU(x) = x σ({:g} x)", kQuickGeluFactor), kSmooth};
    case Activation::GeluClipped:
        return {fmt::format("GELU(x) = min(x Φ(x), {:g})", kGeluLimit), kSmooth};
    }
    return {};
}

Words words_of(const Structure& structure, const PlanNode& node) {
    const Config& config = structure.config;
    switch (node.op) {
    case Op::Tokens:
        return {"text → ids", "The text is split into tokens; each becomes its number in the vocabulary."};
    case Op::Embed:
        if (node.settings.factor != 1)
            return {fmt::format("E = {:g} onehot(id) W_E", node.settings.factor),
                    fmt::format("A lookup: row id of the table, which equals the one-hot row times the table, then multiplied by {:g}.",
                                node.settings.factor)};
        return {"E = onehot(id) W_E", "A lookup: row id of the table, the same as the one-hot row times the table."};
    case Op::Positions:
        return position_words(node);
    case Op::Segments:
        return {"S = S[part]", "Every token gets the vector of its segment: the first part of a text or the second."};
    case Op::Add:
        return add_words(config.position, node);
    case Op::Norm:
        return norm_words(node.settings);
    case Op::Given:
        if (node.origin.called.empty()) return {"as recorded", "Numbers from elsewhere; how they came about is not known."};
        return {"as recorded", fmt::format("What your code computed here: {}.", node.origin.text())};
    case Op::PassOn:
        return {"y = x", "Every row passes unchanged."};
    case Op::Linear:
        return linear_words(config, node);
    case Op::LinearByReshape:
        return reshaped_words(config, node);
    case Op::Rotate:
        return rotate_words(config, node.settings.rotary);
    case Op::Scores:
        return {"scores = Q Kᵀ", "Every query is compared with every key: one dot product for each pair." + sharing(config)};
    case Op::Scale:
        if (!is_attention_map(node.id.stage))
            return {fmt::format("y = {:g} x", node.settings.factor), "The input of the output head is multiplied by a constant."};
        return scale_words(config, node.settings);
    case Op::Cap:
        return {fmt::format("y = {0:g} tanh(x ÷ {0:g})", node.settings.cap),
                fmt::format("Small numbers pass almost unchanged; none exceeds {:g}.", node.settings.cap)};
    case Op::Bias:
        if (!node.weight.empty())
            return {"biased = scaled + bias[range of s − t]", "Each head has learned a number for each range of distances, the same in all "
                                                              "layers. This is how the model knows the order of words."};
        return {"biased = scaled − slope (t − s)",
                "Each head lowers scores with distance, at its own rate. This is how the model knows the order of words."};
    case Op::Mask:
        if (!node.origin.called.empty())
            return {"masked = scaled, or −∞", "Hatched cells are those that the mask in your code hides; the softmax gives them 0."};
        return mask_words(structure.settings.masks, node.settings.window, node.id.attention == kCrossAttention);
    case Op::Softmax:
        return softmax_words(structure.settings, node);
    case Op::SoftmaxOverQueries:
        return {softmax_formula(structure.settings, node) + " over queries",
                "Each column becomes a distribution over the queries, so that columns sum to 1 instead of rows."};
    case Op::SoftmaxThenMask:
        return {
            softmax_formula(structure.settings, node) + ", 0 where masked",
            "The softmax sees every key; what the mask forbids is set to 0 afterwards, so that rows with masked keys sum to less than 1."};
    case Op::Dropout:
        return dropout_words(structure.settings.dropout.attention);
    case Op::DropoutLeftOn:
        return dropout_words(structure.settings.dropout.attention > 0 ? structure.settings.dropout.attention : kDropoutLeftOn);
    case Op::Mix:
        return {"context = A V", "Each token receives the mixture of value vectors given by its row of weights." + sharing(config)};
    case Op::JoinHeads:
        return {"concat = head 0 ‖ head 1 ‖ …",
                config.num_heads == 1 ? "Only one head: the context unchanged." : "The heads' contexts are concatenated."};
    case Op::JoinByReshape:
        return {"concat = reshape(context)",
                "The context's numbers, head after head, are read as rows: a row holds one head's context of several positions."};
    case Op::Activate:
        return activate_words(node.settings.activation);
    case Op::Multiply:
        return {"gated = act ∘ hidden", "Number by number: each hidden unit passes as far as its gate is open."};
    case Op::Probabilities:
        return {"p = softmax(logits)", config.architecture == Architecture::Encoder ? "The model's prediction at every position."
                                                                                    : "What the model expects after every token."};
    }
    return {};
}

}  // namespace

StageText text_of(const Structure& structure, const StageId& id, std::string_view noun) {
    const PlanNode& node = structure.plan->at(id);
    Words words = words_of(structure, node);
    if (node.op != Op::Given && !node.origin.line.empty()) words.sentence += " In your code: " + node.origin.line + ".";
    return {id.stage == Stage::Other ? structure.plan->name_of(id) : stage_title(id, noun), std::move(words.formula),
            std::move(words.sentence)};
}

}  // namespace attn::app
