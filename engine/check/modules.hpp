#pragma once
/// One function per kind of reference file, chosen by check_file(). Scalar is the type to compute in.

#include "engine/check/case_config.hpp"
#include "engine/check/case_file.hpp"
#include "engine/weights/parameters.hpp"

namespace attn::check {

template <class Scalar>
void check_sdpa(CaseFile& file, CaseConfig& config);
template <class Scalar>
void check_multihead_attention(CaseFile& file, CaseConfig& config);
/// Notebooks have no configuration: sizes and number of heads follow from the arrays.
template <class Scalar>
void check_notebook(CaseFile& file);

template <class Scalar>
void check_encoder_layer(CaseFile& file, CaseConfig& config);
template <class Scalar>
void check_decoder_layer(CaseFile& file, CaseConfig& config);
template <class Scalar>
void check_transformer(CaseFile& file, CaseConfig& config);
template <class Scalar>
void check_gpt2(CaseFile& file, CaseConfig& config);
/// A training run: its losses, gradient norms and final parameters.
template <class Scalar>
void check_train_gpt2(CaseFile& file, CaseConfig& config);

// --- shared -------------------------------------------------------------------------------------------------------

/// A sequence of rows [B,T,width].
template <class Scalar>
Tensor<Scalar> read_sequence(const CaseFile& file, const std::string& name, std::int64_t width) {
    const std::vector<std::int64_t>& sizes = file.sizes(name, 3);
    return file.tensor<Scalar>(name, {{Axis::B, sizes[0]}, {Axis::T, sizes[1]}, {Axis::C, width}});
}

/// The configuration; throws FileError if it is invalid.
Config validated(const CaseFile& file, Config config);

/// "activation": relu or gelu, the latter with "gelu": erf or tanh, by default usual_gelu.
Activation read_activation(CaseConfig& config, const char* usual_gelu);

/// Throws FileError if maps of this shape would need an unreasonable amount of memory.
void require_map_fits(const CaseFile& file, const std::string& tensor, const Shape& map);

}  // namespace attn::check
