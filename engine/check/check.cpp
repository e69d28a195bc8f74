#include "engine/check/check.hpp"

#include "engine/check/check_folder.hpp"
#include "engine/check/modules.hpp"
#include "engine/families/model_folder.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"
#include "engine/tensor/error.hpp"

namespace attn::check {
namespace {

constexpr std::string_view kFormat = "attnscope-case/1";
constexpr Tolerance kDoubleAgainstDouble{1e-12, 1e-12};

template <class Scalar>
Report check_case(CaseFile file, const std::string& module, CaseConfig config) {
    if (module == "sdpa") check_sdpa<Scalar>(file, config);
    else if (module == "multihead_attention") check_multihead_attention<Scalar>(file, config);
    else if (module == "encoder_layer") check_encoder_layer<Scalar>(file, config);
    else if (module == "decoder_layer") check_decoder_layer<Scalar>(file, config);
    else if (module == "transformer") check_transformer<Scalar>(file, config);
    else if (module == "gpt2") check_gpt2<Scalar>(file, config);
    else if (module == "train_gpt2") check_train_gpt2<Scalar>(file, config);
    else
        throw FileError(FileFault::Unsupported, file.name(), "metadata",
                        "there is no module \"" + escaped(module) +
                            "\"; expected sdpa, multihead_attention, encoder_layer, decoder_layer, transformer, gpt2 or train_gpt2");
    return file.finish(module);
}

Report check_safetensors(const std::filesystem::path& path, const Options& options) {
    ArrayFile file = read_safetensors(path);
    const std::string format = file.metadata_at("format"), module = file.metadata_at("module");
    if (format != kFormat)
        throw FileError(FileFault::Unsupported, file.source, "metadata",
                        "expected the format " + std::string(kFormat) + ", found \"" + escaped(format) + "\"");
    CaseConfig config(file.metadata_at("config"), file.source);
    CaseFile contents(std::move(file), Tolerance{});
    return options.in_double ? check_case<double>(std::move(contents), module, std::move(config))
                             : check_case<float>(std::move(contents), module, std::move(config));
}

Report check_npz(const std::filesystem::path& path, const Options& options) {
    CaseFile file(read_npz(path), options.in_double ? kDoubleAgainstDouble : Tolerance{});
    if (!file.has("x") || !(file.has("w_q") || file.has("head0.w_q")))
        throw FileError(FileFault::Schema, file.name(), "", "is not a worked example: expected x with w_q, or x with head0.w_q");
    if (options.in_double) check_notebook<double>(file);
    else check_notebook<float>(file);
    return file.finish("notebook");
}

}  // namespace

void require_map_fits(const CaseFile& file, const std::string& tensor, const Shape& map) {
    constexpr std::int64_t kMaxCells = std::int64_t{1} << 28;
    if (map.count() > kMaxCells)
        file.fail(tensor, "would make attention maps " + map.text() + "; at most " + std::to_string(kMaxCells) + " cells are checked");
}

Config validated(const CaseFile& file, Config config) {
    try {
        validate(config);
    } catch (const ConfigError& error) {
        throw FileError(FileFault::Schema, file.name(), "config", error.what());
    }
    return config;
}

Activation read_activation(CaseConfig& config, const char* usual_gelu) {
    const std::string activation = config.text("activation"), form = config.text("gelu", usual_gelu);
    if (activation == "relu") return Activation::Relu;
    if (activation != "gelu") config.fail("activation", "expected relu or gelu, found \"" + escaped(activation) + "\"");
    if (form != "erf" && form != "tanh") config.fail("gelu", "expected erf or tanh, found \"" + escaped(form) + "\"");
    return form == "erf" ? Activation::GeluErf : Activation::GeluTanh;
}

Report check_file(const std::filesystem::path& path, const Options& options) {
    std::error_code none;
    if (std::filesystem::is_directory(path, none) || is_gguf_file(path)) return check_folder(path, options);
    return path.extension() == ".npz" ? check_npz(path, options) : check_safetensors(path, options);
}

}  // namespace attn::check
