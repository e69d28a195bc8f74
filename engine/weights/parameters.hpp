#pragma once
/// A model's parameters: one flat buffer, and one list that optimizer, checkpoints and history all iterate.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/tensor/matrix_view.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {

/// A named parameter in the flat buffer. Linear weights are [in,out]: y = x W + b.
struct ParameterInfo {
    std::string name;  ///< "layers.0.attention.qkv.weight"
    Shape shape;
    std::int64_t offset = 0;
    bool decayed = false;  ///< has weight decay: matrices do, biases and norms do not
};

/// A parameter as operations use it: a whole entry, or some of its columns if several matrices are stored side by side.
struct ParameterPlace {
    const ParameterInfo* whole = nullptr;
    std::int64_t first_column = 0, columns = 0;

    std::int64_t rows() const { return whole->shape.rank() == 2 ? whole->shape[0].size : 1; }
    std::int64_t stride() const { return whole->shape[whole->shape.rank() - 1].size; }  ///< distance between rows
    std::int64_t offset() const { return whole->offset + first_column; }                ///< of the first number in the buffer
    Shape shape() const;                                                                ///< [rows,columns] or [columns]
};

/// Names and shapes of a configuration's parameters, in this order:
///   token_embedding.weight [V,C], or [V,N=d_embedding] with embedding_in.weight [N,C] ·
///   position_embedding.weight [N=context,C] (learned; with stack_positions one of each stack) · segment_embedding.weight [N,C] ·
///   per stack, prefixed with `encoder.` or `decoder.` if there are two: position_bias.weight [N=buckets,H] · embedding_norm.* ·
///   per layer `layers.N.`:
///     norm_1.{weight,bias} · attention.qkv.weight [C,N=HD+2GD], columns Q then K then V, each head after head · attention.qkv.bias ·
///     attention.q_norm.weight, attention.k_norm.weight [N=D, or the width of all heads] ·
///     attention.out.weight [N=HD,C] · attention.out.bias · attention_norm.* ·
///     (decoder: cross_norm.* · cross_attention.q.weight [C,N=HD] · .q.bias · cross_attention.kv.weight [C,N=2GD] · .kv.bias ·
///     cross_attention.out.*) · norm_2.* · (gated: ffn.gate.*) · ffn.in.weight [C,F] · ffn.in.bias · ffn.out.weight [F,C] · ffn.out.bias ·
///     ffn_norm.* ·
///   final_norm.* of the stack · head_transform.*, head_norm.* · head_in.weight [C,N] · lm_head.weight [C,V] (untied) · lm_head.bias
/// Parameters that the configuration does not need are absent. q, k and v also have names of their own, such as "attention.q.weight", under
/// which place() finds their columns.
class ParameterLayout {
public:
    /// Throws ConfigError like validate().
    explicit ParameterLayout(const Config& config);
    const std::vector<ParameterInfo>& entries() const { return entries_; }
    /// nullptr if the model has no such parameter.
    const ParameterInfo* find(std::string_view name) const;
    /// Where a plan's parameter is; `whole` is null if the model has none of that name.
    ParameterPlace place(std::string_view name) const;
    std::int64_t count() const { return count_; }

private:
    friend class LayoutBuilder;
    struct Part {
        std::string name;
        std::size_t entry;
        std::int64_t first_column, columns;
    };
    std::vector<ParameterInfo> entries_;
    std::vector<Part> parts_;  ///< matrices inside packed entries
    std::int64_t count_ = 0;
};

/// Some columns of an entry, as they are stored.
struct StoredColumns {
    std::int64_t first = 0;  ///< first of these columns in the entry
    MatrixView view;         ///< [rows,columns]; a vector is one row
};

template <class Scalar>
class Parameters {
public:
    /// All zeros.
    explicit Parameters(const Config& config);
    /// Read-only parameters whose numbers `owner` holds in stored form, such as a memory-mapped file: for every entry of the layout, in
    /// order, the pieces that make up its columns. data() is null. Throws ShapeError naming an entry that its pieces do not cover.
    Parameters(const Config& config, std::vector<std::vector<StoredColumns>> entries, std::shared_ptr<const void> owner);

    const Config& config() const { return config_; }
    const ParameterLayout& layout() const { return *layout_; }
    std::int64_t count() const { return layout_->count(); }
    Scalar* data() { return values_.data(); }
    const Scalar* data() const { return values_.data(); }
    /// Whether the numbers belong to somebody else, in stored form.
    bool borrowed() const { return !borrowed_.empty(); }
    /// The parameter of a plan's operation. Its data is null if the model has none of that name, or if it is stored in several pieces, as a
    /// packed entry may be; the parts of a packed entry have names of their own.
    MatrixView view(std::string_view name) const;
    /// The same by place.
    MatrixView view(const ParameterPlace& place) const;
    /// All numbers of an entry, row-major.
    std::vector<Scalar> copy(const ParameterInfo& entry) const;
    /// One number of an entry by row-major index; not checked.
    double number(const ParameterInfo& entry, std::int64_t flat) const;
    /// Pointer to a parameter's first number; nullptr if the model has none of that name or the parameters are borrowed.
    Scalar* find(std::string_view name);
    const Scalar* find(std::string_view name) const;

private:
    Config config_;
    std::shared_ptr<const ParameterLayout> layout_;
    const std::vector<StoredColumns>& pieces(const ParameterInfo& entry) const;

    AlignedVector<Scalar> values_;                      ///< empty if the numbers are borrowed
    std::vector<std::vector<StoredColumns>> borrowed_;  ///< in that case: the pieces of every entry
    std::shared_ptr<const void> owner_;
};

/// New parameters drawn as config.init and config.seed say: the same seed gives the same numbers on every machine. `drawn`, earlier such
/// parameters, only saves time: numbers that a change of vocabulary or context does not affect are copied from it.
template <class Scalar>
Parameters<Scalar> initial_parameters(const Config& config, const Parameters<Scalar>* drawn = nullptr);

}  // namespace attn
