#include "engine/weights/parameters.hpp"

#include <algorithm>
#include <utility>

#include "engine/tensor/error.hpp"

namespace attn {

/// Appends the parameters in the order documented in the header.
class LayoutBuilder {
public:
    LayoutBuilder(const Config& config, ParameterLayout& layout) : config_(config), layout_(layout) {}

    void build() {
        const std::int64_t c = config_.d_model;
        const std::int64_t width = config_.embedding_width();
        const Dim narrow{Axis::N, width};
        add("token_embedding.weight", {{Axis::V, config_.vocab_size}, width == c ? Dim{Axis::C, c} : narrow});
        if (width != c) add("embedding_in.weight", {narrow, {Axis::C, c}});
        if (!config_.stack_positions) positions("");
        if (config_.num_segments > 0) add("segment_embedding.weight", {{Axis::N, config_.num_segments}, {Axis::C, c}});
        if (config_.architecture == Architecture::EncoderDecoder) {
            stack(Stack::Encoder, "encoder.");
            stack(Stack::Decoder, "decoder.");
        } else {
            stack(Stack::Main, "");
        }
        if (!config_.lm_head) return;
        if (config_.head_transform) {
            linear("head_transform", {Axis::C, c}, {Axis::C, c}, true);
            norm("head_norm");
        }
        if (config_.tied_lm_head && width != c) add("head_in.weight", {{Axis::C, c}, narrow});
        if (!config_.tied_lm_head) add("lm_head.weight", {{Axis::C, c}, {Axis::V, config_.vocab_size}});
        if (config_.lm_head_bias) add("lm_head.bias", {{Axis::V, config_.vocab_size}});
    }

private:
    void add(const std::string& name, const Shape& shape) {
        layout_.entries_.push_back({name, shape, layout_.count_, shape.rank() == 2});
        layout_.count_ += shape.count();
    }
    void norm(const std::string& name) {
        add(name + ".weight", {{Axis::C, config_.d_model}});
        if (config_.norm_kind == NormKind::LayerNorm) add(name + ".bias", {{Axis::C, config_.d_model}});
    }
    void linear(const std::string& name, Dim in, Dim out, bool bias) {
        add(name + ".weight", {in, out});
        if (bias) add(name + ".bias", {out});
    }
    /// Several maps of the same input in one entry: "q", "k" and "v" in "qkv".
    void packed(const std::string& prefix, std::string_view letters) {
        std::int64_t columns = 0;
        const std::size_t weight = layout_.entries_.size();
        for (const char letter : letters) {
            const std::int64_t own = letter == 'q' ? config_.attention_width() : config_.kv_width();
            layout_.parts_.push_back({prefix + letter + ".weight", weight, columns, own});
            if (config_.qkv_bias) layout_.parts_.push_back({prefix + letter + ".bias", weight + 1, columns, own});
            columns += own;
        }
        linear(prefix + std::string(letters), {Axis::C, config_.d_model}, {Axis::N, columns}, config_.qkv_bias);
    }
    void positions(const std::string& prefix) {
        if (config_.position != PositionKind::Learned) return;
        add(prefix + "position_embedding.weight", {{Axis::N, config_.context_length}, {Axis::C, config_.d_model}});
    }
    void stack(Stack stack, const std::string& prefix) {
        if (config_.stack_positions) positions(prefix);
        if (config_.position == PositionKind::Buckets)
            add(prefix + "position_bias.weight", {{Axis::N, config_.position_buckets}, {Axis::H, config_.num_heads}});
        if (config_.embedding_norm) norm(prefix + "embedding_norm");
        for (std::int64_t i = 0; i < config_.layers_of(stack); ++i) layer(prefix + "layers." + std::to_string(i) + ".", stack);
        if (config_.ends_with_norm(stack)) norm(prefix + "final_norm");
    }
    void layer(const std::string& prefix, Stack stack) {
        const Dim c{Axis::C, config_.d_model}, f{Axis::F, config_.ff_of(stack)};
        const bool cross = stack == Stack::Decoder;
        const std::int64_t width = config_.attention_width();
        const bool norms = config_.norms_input() || config_.norm == NormPlacement::Post;
        if (norms) norm(prefix + "norm_1");
        packed(prefix + "attention.", "qkv");
        if (config_.qk_norm != QueryKeyNorm::None) {
            const bool all = config_.qk_norm == QueryKeyNorm::AllHeads;
            add(prefix + "attention.q_norm.weight", {{Axis::N, all ? width : config_.head_size()}});
            add(prefix + "attention.k_norm.weight", {{Axis::N, all ? config_.kv_width() : config_.head_size()}});
        }
        if (config_.output_projection) linear(prefix + "attention.out", {Axis::N, width}, c, config_.output_bias);
        if (config_.norms_result()) norm(prefix + "attention_norm");
        if (cross) {
            if (norms) norm(prefix + "cross_norm");
            linear(prefix + "cross_attention.q", c, {Axis::N, width}, config_.qkv_bias);
            packed(prefix + "cross_attention.", "kv");
            if (config_.output_projection) linear(prefix + "cross_attention.out", {Axis::N, width}, c, config_.output_bias);
        }
        if (!config_.feed_forward) return;
        if (norms && config_.order != BlockOrder::ParallelOneNorm) norm(prefix + "norm_2");
        if (config_.ffn_gated) linear(prefix + "ffn.gate", c, f, config_.ffn_bias);
        linear(prefix + "ffn.in", c, f, config_.ffn_bias);
        linear(prefix + "ffn.out", f, c, config_.ffn_bias);
        if (config_.norms_result()) norm(prefix + "ffn_norm");
    }

    const Config& config_;
    ParameterLayout& layout_;
};

ParameterLayout::ParameterLayout(const Config& config) {
    validate(config);
    LayoutBuilder(config, *this).build();
}

const ParameterInfo* ParameterLayout::find(std::string_view name) const {
    for (const ParameterInfo& entry : entries_)
        if (entry.name == name) return &entry;
    return nullptr;
}

ParameterPlace ParameterLayout::place(std::string_view name) const {
    for (const Part& part : parts_)
        if (part.name == name) return {&entries_[part.entry], part.first_column, part.columns};
    const ParameterInfo* whole = find(name);
    return {whole, 0, whole == nullptr ? 0 : whole->shape[whole->shape.rank() - 1].size};
}

Shape ParameterPlace::shape() const { return whole->shape.with_size(whole->shape.rank() - 1, columns); }

template <class Scalar>
Parameters<Scalar>::Parameters(const Config& config)
    : config_(config), layout_(std::make_shared<ParameterLayout>(config)), values_(static_cast<std::size_t>(layout_->count())) {}

namespace {

/// Whether the pieces are adjacent and cover the whole entry.
bool covers(const std::vector<StoredColumns>& pieces, const ParameterPlace& whole) {
    std::int64_t columns = 0;
    for (const StoredColumns& piece : pieces) {
        if (!piece.view || piece.first != columns || piece.view.rows != whole.rows()) return false;
        columns += piece.view.columns;
    }
    return columns == whole.columns;
}

}  // namespace

template <class Scalar>
Parameters<Scalar>::Parameters(const Config& config, std::vector<std::vector<StoredColumns>> entries, std::shared_ptr<const void> owner)
    : config_(config), layout_(std::make_shared<ParameterLayout>(config)), borrowed_(std::move(entries)), owner_(std::move(owner)) {
    const auto& expected = layout_->entries();
    if (borrowed_.size() != expected.size())
        throw ShapeError("the model has " + std::to_string(expected.size()) + " parameters, not " + std::to_string(borrowed_.size()));
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (!covers(borrowed_[i], layout_->place(expected[i].name)))
            throw ShapeError("what is stored of " + expected[i].name + " is not " + expected[i].shape.text());
}

template <class Scalar>
const std::vector<StoredColumns>& Parameters<Scalar>::pieces(const ParameterInfo& entry) const {
    // Searched by offset, because the entry may belong to another layout of the same configuration.
    const auto& entries = layout_->entries();
    const auto found = std::lower_bound(entries.begin(), entries.end(), entry.offset,
                                        [](const ParameterInfo& one, std::int64_t offset) { return one.offset < offset; });
    return borrowed_[static_cast<std::size_t>(found - entries.begin())];
}

template <class Scalar>
MatrixView Parameters<Scalar>::view(const ParameterPlace& place) const {
    if (place.whole == nullptr) return {};
    if (!borrowed()) return {data() + place.offset(), kNumberKind<Scalar>, place.rows(), place.columns, place.stride(), false};
    for (const StoredColumns& piece : pieces(*place.whole)) {
        const std::int64_t first = place.first_column - piece.first;
        if (first >= 0 && first + place.columns <= piece.view.columns) return piece.view.columns_from(first, place.columns);
    }
    return {};
}

template <class Scalar>
MatrixView Parameters<Scalar>::view(std::string_view name) const {
    return view(layout_->place(name));
}

template <class Scalar>
std::vector<Scalar> Parameters<Scalar>::copy(const ParameterInfo& entry) const {
    std::vector<Scalar> out(static_cast<std::size_t>(entry.shape.count()));
    if (!borrowed()) {
        std::copy_n(data() + entry.offset, out.size(), out.begin());
        return out;
    }
    const ParameterPlace whole = layout_->place(entry.name);
    for (const StoredColumns& piece : pieces(entry)) copy_numbers(piece.view, out.data() + piece.first, whole.stride());
    return out;
}

template <class Scalar>
double Parameters<Scalar>::number(const ParameterInfo& entry, std::int64_t flat) const {
    if (!borrowed()) return static_cast<double>(data()[entry.offset + flat]);
    const std::int64_t stride = layout_->place(entry.name).stride(), row = flat / stride, column = flat % stride;
    for (const StoredColumns& piece : pieces(entry))
        if (column - piece.first < piece.view.columns) return piece.view.at(row, column - piece.first);
    return 0;
}

template <class Scalar>
Scalar* Parameters<Scalar>::find(std::string_view name) {
    const ParameterInfo* info = layout_->find(name);
    return info == nullptr || borrowed() ? nullptr : data() + info->offset;
}

template <class Scalar>
const Scalar* Parameters<Scalar>::find(std::string_view name) const {
    const ParameterInfo* info = layout_->find(name);
    return info == nullptr || borrowed() ? nullptr : data() + info->offset;
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace attn
