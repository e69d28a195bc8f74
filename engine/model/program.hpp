#pragma once
/// A plan made executable: its nodes with their operands, grouped into steps, and the memory of their results.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/attention/causal_zeros.hpp"
#include "engine/attention/heads_view.hpp"
#include "engine/attention/key_value_cache.hpp"
#include "engine/attention/rotation.hpp"
#include "engine/model/gradients.hpp"
#include "engine/model/pass_masks.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/plan/plan.hpp"
#include "engine/tensor/token_batch.hpp"
#include "engine/trace/tap.hpp"
#include "engine/weights/packed_weights.hpp"
#include "engine/weights/weights.hpp"

namespace attn {

/// How a program computes its plan.
enum class Form : std::uint8_t {
    Staged,    ///< node by node, every result in a tensor of its own, so that all can be shown
    Outlined,  ///< the same bits, but without attention maps; see can_leave_out_maps()
    Fused,     ///< several nodes at once; intermediate results only as far as the backward pass needs them
};
/// How long results are kept.
enum class Keep : std::uint8_t {
    Everything,  ///< until the next pass, so that a backward pass can follow
    OneLayer,    ///< results of a layer overwrite those of the previous layer
    UntilRead,   ///< until the last step that reads them; for a pass over the whole plan, whose results only the tap sees
};

template <class Scalar>
class Program;

/// A node with all its operands. If several linear maps are computed as one product, the first node stands for all: its parameters are
/// those of all maps, side by side.
template <class Scalar>
struct Node {
    const PlanNode* plan = nullptr;
    std::vector<std::size_t> inputs;  ///< indices of nodes
    MatrixView weight;                ///< matrix or table
    const Scalar *gain = nullptr, *bias = nullptr;
    PackedMatrix<Scalar> packed;                 ///< the packed matrix, if there is one
    ParameterPlace dweight, dbias;               ///< place among the gradients
    std::int64_t columns = 0, first_column = 0;  ///< this map's columns among those of the merged product
};

/// Consecutive nodes that are computed by one function.
template <class Scalar>
struct Step {
    void (*forward)(Program<Scalar>&, const Step&) = nullptr;
    void (*backward)(Program<Scalar>&, const Step&) = nullptr;
    std::size_t first = 0, count = 1;

    std::size_t last() const { return first + count - 1; }
};

/// The inputs of a pass. All must outlive it.
template <class Scalar>
struct PassSetting {
    const ForwardSettings& settings;
    const PassMasks& masks;
    Tap<Scalar>& tap;
    const TokenBatch *tokens = nullptr, *source = nullptr;
    std::int64_t first_sequence = 0;         ///< index of the batch's first sequence, if it is part of a larger batch
    Gradients<Scalar>* gradients = nullptr;  ///< where the backward pass adds parameter gradients
    bool fresh = false;                      ///< gradients of linear maps are replaced instead of added to
    KeyValueCache<Scalar>* cache =
        nullptr;  ///< fused form only: earlier positions; this pass's keys and values are put there, and the caller advances it
    std::int64_t first_position = 0;  ///< position of the first token; not 0 if the pass continues a text
    std::int64_t text_length = 0;     ///< of the text that the tokens are a part of; 0: they are its end
};

/// Whether a plan can be computed in fused form; some mistakes exist only node by node.
bool can_fuse(const Plan& plan);

/// Whether a forward pass can skip attention maps, because no edit or other setting touches single cells. `part`: restricted to these
/// nodes.
bool can_leave_out_maps(const Plan& plan, const ForwardSettings& settings, const std::optional<PlanPart>& part = {});

template <class Scalar>
class Program {
public:
    /// The plan must belong to the weights; both must outlive this.
    Program(const Plan& plan, const Weights& weights, Form form, Keep keep);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    void use(const PackedWeights<Scalar>& packed);

    const Plan& plan() const { return plan_; }
    /// Index of a stage's node; the plan must have it.
    std::size_t place(const StageId& id) const;

    /// Computes nodes [first, last) and shows them to the tap; everything else they read must be there.
    void forward(const PassSetting<Scalar>& setting, std::size_t first, std::size_t last);
    /// Gradients of the same nodes, from those begun already, down to what the nodes read.
    void backward(const PassSetting<Scalar>& setting, std::size_t first, std::size_t last);
    /// Discards all gradients.
    void begin_backward() { has_gradient_.assign(nodes_.size(), 0); }

    // --- for the steps -----------------------------------------------------------------------------------------------------------------
    const Config& config() const { return weights_.config(); }
    bool fused() const { return form_ == Form::Fused; }
    bool leaves_out_maps() const { return form_ == Form::Outlined; }
    /// Whether attention maps stay in memory, to be shown or for a backward pass.
    bool keeps_maps() const { return form_ == Form::Staged || (fused() && keep_ == Keep::Everything); }
    /// How masks must be given: without maps, a long text must not take memory with the square of its length.
    MaskForm masks_as() const { return keeps_maps() ? MaskForm::Cells : MaskForm::Ranges; }
    const PassSetting<Scalar>& setting() const { return *setting_; }
    const ForwardSettings& settings() const { return setting_->settings; }
    const Node<Scalar>& node(std::size_t place) const { return nodes_[place]; }

    Tensor<Scalar>& value(std::size_t place) { return values_[value_slots_[place]]; }
    Tensor<Scalar>& gradient(std::size_t place) { return gradients_[gradient_slots_[place]]; }
    const Tensor<Scalar>& input(std::size_t place, std::size_t i = 0) { return value(nodes_[place].inputs[i]); }
    /// The heads of a node's result or gradient, which may be inside packed rows [B,P,N].
    HeadsView<Scalar> heads(std::size_t place) { return heads_in(value(place), place); }
    HeadsView<Scalar> gradient_heads(std::size_t place) { return heads_in(gradient(place), place); }
    HeadsView<Scalar> heads_in(Tensor<Scalar>& tensor, std::size_t place) const;

    /// Marks a node's gradient as begun, with the shape of its value; the caller must set all of it.
    Tensor<Scalar>& begin_gradient(std::size_t place);
    bool has_gradient(std::size_t place) const { return has_gradient_[place] != 0; }
    /// Calls write(tensor) for a step's contribution to a node's gradient, and adds it if there are others already.
    template <class F>
    void contribute(std::size_t place, const F& write) {
        if (!has_gradient(place)) {
            has_gradient_[place] = 1;
            return write(gradient(place));
        }
        Tensor<Scalar>& part = parts_[static_cast<std::size_t>(parts_in_use_++)];
        write(part);
        --parts_in_use_;
        add_to_gradient(place, part);
    }
    /// Contributes a whole gradient unchanged, without copying if the two nodes share memory.
    void pass_on(std::size_t from, std::size_t to);

    /// Where the gradients of a node's parameters are added; null if it has none.
    Scalar* dweight(std::size_t place) { return parameter_gradient(nodes_[place].dweight); }
    Scalar* dbias(std::size_t place) { return parameter_gradient(nodes_[place].dbias); }

    const TokenBatch& tokens(std::size_t place) const;
    std::int64_t first_position() const { return setting_->first_position; }
    const std::shared_ptr<const Mask>& mask(std::size_t place) const;
    /// The dropout pattern of a tensor [B,...], independent of how the batch is split.
    DropoutPattern dropout(double rate, const StageId& site, const Shape& shape) const;
    /// Rotations of a node for the first `positions` positions of the text.
    const RotationTable<Scalar>& rotation(std::size_t place, std::int64_t positions);
    /// The gain of a norm, valid until the next call.
    const Scalar* gain(std::size_t place);

    /// Statistics of a norm: [B,T].
    struct NormStatistics {
        Tensor<Scalar> mean, rstd;
    };
    NormStatistics& statistics(std::size_t place) { return statistics_[value_slots_[place]]; }
    /// What is known of a weights map's zeros, in fused form.
    CausalZeros& zeros(std::size_t place) { return zeros_[value_slots_[place]]; }
    /// The product of several maps before it is split into heads, in staged form.
    Tensor<Scalar>& packed_rows() { return packed_rows_; }
    /// Memory for heads side by side while they are normed.
    std::array<Tensor<Scalar>, 2>& joined_heads() { return joined_heads_; }

private:
    void add_to_gradient(std::size_t place, const Tensor<Scalar>& part);
    Scalar* parameter_gradient(const ParameterPlace& place);
    void show(const Step<Scalar>& step);
    void show(std::size_t place);
    void finish_gradient(std::size_t place);
    const std::shared_ptr<const Mask>& shown_mask(std::size_t place);

    void find_nodes();
    void find_parameters(Node<Scalar>& node);
    const Scalar* find_row(const PlanParameter& parameter);
    void cut_into_steps();
    void merge(std::size_t first, std::size_t count);
    std::size_t home(std::size_t place) const;
    void share_values(Keep keep);
    void share_once_read();
    std::vector<std::vector<std::size_t>> nodes_read_last() const;
    void share_gradients();

    const Plan& plan_;
    const Weights& weights_;
    const ParameterLayout layout_{weights_.config()};
    Form form_;
    Keep keep_;
    std::vector<Node<Scalar>> nodes_;
    std::vector<Step<Scalar>> steps_;
    std::vector<std::vector<Scalar>> rows_;  ///< gains and biases converted to Scalar

    std::vector<std::size_t> value_slots_, gradient_slots_;  ///< indexed by node
    std::vector<Tensor<Scalar>> values_, gradients_;
    std::vector<NormStatistics> statistics_;
    std::vector<CausalZeros> zeros_;
    std::vector<char> has_gradient_;
    std::array<Tensor<Scalar>, 3> parts_;
    int parts_in_use_ = 0;
    Tensor<Scalar> packed_rows_;
    std::array<Tensor<Scalar>, 2> joined_heads_;
    /// A rotation table per distinct rule.
    struct RuledTable {
        RotaryRule rule;
        std::int64_t tokens = 0;  ///< length of the text that `frequencies` are for
        std::vector<double> frequencies;
        RotationTable<Scalar> table;
    };
    std::vector<RuledTable> rotations_;
    std::vector<Scalar> gain_;
    const PassSetting<Scalar>* setting_ = nullptr;
};

}  // namespace attn
