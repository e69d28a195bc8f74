#pragma once
/// A model's parameters: one flat buffer and one list that everything iterates (optimizer, checkpoints, history).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/config.hpp"
#include "engine/tensor/matrix_view.hpp"
#include "engine/tensor/tensor.hpp"

namespace attn {

/// One named parameter inside the flat buffer. Linear weights are [in, out]: y = x W + b.
struct ParameterInfo {
    std::string name;  ///< "layers.0.attention.qkv.weight"
    Shape shape;
    std::int64_t offset = 0;
    bool decayed = false;  ///< matrices take weight decay, biases and norms do not
};

/// A parameter as operations know it: all of an entry, or some of its columns where several matrices lie side by side in one.
struct ParameterPlace {
    const ParameterInfo* whole = nullptr;
    std::int64_t first_column = 0, columns = 0;

    std::int64_t rows() const { return whole->shape.rank() == 2 ? whole->shape[0].size : 1; }
    std::int64_t stride() const { return whole->shape[whole->shape.rank() - 1].size; }  ///< from row to row
    std::int64_t offset() const { return whole->offset + first_column; }                ///< of the first number in the buffer
    Shape shape() const;                                                                ///< [rows,columns] or [columns]
};

/// Names and places of a configuration's parameters, in order:
///   token_embedding.weight [V,C], or [V,N=d_embedding] with embedding_in.weight [N,C] ·
///   position_embedding.weight [N=context,C] (learned; with stack_positions one of each stack) · segment_embedding.weight [N,C] ·
///   per stack, with `encoder.` or `decoder.` before all where there are two: position_bias.weight [N=buckets,H] · embedding_norm.* ·
///   per layer `layers.N.`:
///     norm_1.{weight,bias} · attention.qkv.weight [C,N=HD+2GD], columns Q then K then V, each head after head · attention.qkv.bias ·
///     attention.q_norm.weight, attention.k_norm.weight [N=D, or the width of all heads] ·
///     attention.out.weight [N=HD,C] · attention.out.bias · attention_norm.* ·
///     (decoder: cross_norm.* · cross_attention.q.weight [C,N=HD] · .q.bias · cross_attention.kv.weight [C,N=2GD] · .kv.bias ·
///     cross_attention.out.*) · norm_2.* · (gated: ffn.gate.*) · ffn.in.weight [C,F] · ffn.in.bias · ffn.out.weight [F,C] · ffn.out.bias ·
///     ffn_norm.* ·
///   final_norm.* of the stack · head_transform.*, head_norm.* · head_in.weight [C,N] · lm_head.weight [C,V] (untied) · lm_head.bias
/// Entries that the configuration lacks are absent.
/// q, k and v have names of their own, "attention.q.weight", under which place() finds their columns.
class ParameterLayout {
public:
    /// Throws ConfigError as validate() does.
    explicit ParameterLayout(const Config& config);
    const std::vector<ParameterInfo>& entries() const { return entries_; }
    /// nullptr when the model has no such parameter.
    const ParameterInfo* find(std::string_view name) const;
    /// Where a parameter of a plan is; `whole` is null when the model has none of that name.
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
    std::vector<Part> parts_;  ///< of the packed ones
    std::int64_t count_ = 0;
};

/// Some of an entry's columns, as they are stored.
struct StoredColumns {
    std::int64_t first = 0;  ///< of the entry's columns
    MatrixView view;         ///< [rows,columns] of them; a vector is one row
};

template <class Scalar>
class Parameters {
public:
    /// All zeros.
    explicit Parameters(const Config& config);
    /// Numbers that `owner` keeps as they are stored, such as a mapped file's: of every entry of the layout, in its order, the pieces that
    /// its columns lie in. They can be read but not changed: data() is null. Throws ShapeError naming the entry that the pieces do not
    /// cover.
    Parameters(const Config& config, std::vector<std::vector<StoredColumns>> entries, std::shared_ptr<const void> owner);

    const Config& config() const { return config_; }
    const ParameterLayout& layout() const { return *layout_; }
    std::int64_t count() const { return layout_->count(); }
    Scalar* data() { return values_.data(); }
    const Scalar* data() const { return values_.data(); }
    /// Somebody else keeps the numbers, as they are stored there.
    bool borrowed() const { return !borrowed_.empty(); }
    /// The parameter of a plan's operation; without data when the model has none of that name, or when it lies in several pieces, as a
    /// packed entry may: its parts have names of their own.
    MatrixView view(std::string_view name) const;
    /// The same of a place; without data when the model has none, or when it lies in several pieces.
    MatrixView view(const ParameterPlace& place) const;
    /// All numbers of an entry, row by row.
    std::vector<Scalar> copy(const ParameterInfo& entry) const;
    /// One number of an entry, counted row by row; not checked.
    double number(const ParameterInfo& entry, std::int64_t flat) const;
    /// Pointer to a parameter's first number, nullptr when the model has none of that name or somebody else keeps its numbers.
    Scalar* find(std::string_view name);
    const Scalar* find(std::string_view name) const;

private:
    Config config_;
    std::shared_ptr<const ParameterLayout> layout_;
    const std::vector<StoredColumns>& pieces(const ParameterInfo& entry) const;

    AlignedVector<Scalar> values_;                      ///< without numbers where somebody else keeps them
    std::vector<std::vector<StoredColumns>> borrowed_;  ///< then: where every entry is
    std::shared_ptr<const void> owner_;
};

/// Fresh parameters drawn as config.init and config.seed say. Same seed, same numbers, on every machine.
/// `drawn` only saves time: earlier fresh parameters, from which what a changed vocabulary or context leaves alone is copied.
template <class Scalar>
Parameters<Scalar> initial_parameters(const Config& config, const Parameters<Scalar>* drawn = nullptr);

}  // namespace attn
