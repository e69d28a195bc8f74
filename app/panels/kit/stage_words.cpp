#include "app/panels/kit/stage_words.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "app/session/states/kept_tokenizer.hpp"

namespace attn::app {
namespace {

constexpr std::array<std::pair<Stage, std::string_view>, 42> kTitles = {{
    {Stage::PositionEmbedding, "Positions"},
    {Stage::SegmentEmbedding, "Segments"},
    {Stage::EmbeddingIn, "Widened"},
    {Stage::Embedding, "Embedding"},
    {Stage::EmbeddingNorm, "Embedding norm"},
    {Stage::Norm1, "Norm"},
    {Stage::Q, "Queries"},
    {Stage::K, "Keys"},
    {Stage::V, "Values"},
    {Stage::QNormed, "Normed queries"},
    {Stage::KNormed, "Normed keys"},
    {Stage::QRotated, "Rotated queries"},
    {Stage::KRotated, "Rotated keys"},
    {Stage::Scores, "Scores"},
    {Stage::Scaled, "Scaled"},
    {Stage::Capped, "Capped"},
    {Stage::Biased, "Distance bias"},
    {Stage::Masked, "Masked"},
    {Stage::Softmax, "After the softmax"},
    {Stage::Weights, "Weights"},
    {Stage::Dropped, "After dropout"},
    {Stage::Context, "Mixed values"},
    {Stage::Concat, "Joined heads"},
    {Stage::AttentionOut, "Projected"},
    {Stage::AttentionNorm, "Output norm"},
    {Stage::Residual1, "Added"},
    {Stage::Norm2, "Norm"},
    {Stage::FfnGate, "Gate"},
    {Stage::FfnHidden, "Hidden units"},
    {Stage::FfnActivation, "Activated"},
    {Stage::FfnGated, "Gated"},
    {Stage::FfnOut, "Feed-forward"},
    {Stage::FfnNorm, "Output norm"},
    {Stage::Residual2, "Added"},
    {Stage::FinalNorm, "Final norm"},
    {Stage::HeadHidden, "Head projection"},
    {Stage::HeadActivation, "Head activation"},
    {Stage::HeadNorm, "Head norm"},
    {Stage::HeadScaled, "Head scaling"},
    {Stage::HeadIn, "Narrowed"},
    {Stage::Logits, "Logits"},
    {Stage::LogitsCapped, "Capped logits"},
}};

std::string lower_first(std::string_view words) {
    std::string text(words);
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] + 32);
    return text;
}

std::string upper_first(std::string_view words) {
    std::string text(words);
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
    return text;
}

}  // namespace

std::string_view token_noun(const Snapshot& snapshot) {
    return snapshot.state == nullptr ? "token" : conventions_of(*snapshot.state->setup).token;
}

std::string stage_title(const StageId& id, std::string_view noun) {
    if (id.stage == Stage::Tokens) return upper_first(noun) + "s";
    if (id.stage == Stage::TokenEmbedding) return upper_first(noun) + " vectors";
    if (id.stage == Stage::Probabilities) return fmt::format("Likely {}s", noun);
    for (const auto& [known, words] : kTitles)
        if (known == id.stage) return id.attention == kCrossAttention ? "Cross-" + lower_first(words) : std::string(words);
    return stage_name(id);
}

std::string name_beside_title(const StageId& id) {
    const std::string name = stage_name(id);
    return lower_first(stage_title(id, "token")) == name ? "" : name + " · ";
}

std::string_view axis_meaning(Axis axis) {
    switch (axis) {
    case Axis::B:
        return "texts computed together (batch)";
    case Axis::H:
        return "heads, side by side";
    case Axis::G:
        return "key/value heads, shared by the query heads";
    case Axis::T:
        return "positions that attend (queries)";
    case Axis::S:
        return "positions attended to (keys)";
    case Axis::C:
        return "numbers of a token's vector (d_model)";
    case Axis::D:
        return "numbers of a head's vector (d_head)";
    case Axis::F:
        return "hidden units of the feed-forward layer (d_ff)";
    case Axis::V:
        return "tokens that the model knows (vocabulary)";
    case Axis::L:
        return "layers";
    case Axis::N:
        return "numbers";
    }
    return "";
}

std::string all_heads(std::int64_t count) {
    return count == 1 ? "one head" : count == 2 ? "both heads" : fmt::format("all {} heads", count);
}

std::string shape_words(const Shape& shape) {
    std::string lines;
    for (const Dim& dim : shape)
        lines += fmt::format("{}{}{}: {}", lines.empty() ? "" : "\n", axis_letter(dim.axis), dim.size, axis_meaning(dim.axis));
    return lines;
}

std::string scale_words(double factor, std::int64_t head_size) {
    const double divisor = 1 / factor;
    const bool root = std::abs(divisor - std::sqrt(static_cast<double>(head_size))) <= 1e-9 * divisor;
    if (root) return fmt::format("÷ √{}", head_size);
    return divisor == 1 ? "" : fmt::format("÷ {:.4g}", divisor);
}

}  // namespace attn::app
