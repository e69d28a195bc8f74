#include "engine/snippet/script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/ops/dropout.hpp"
#include "engine/snippet/python_text.hpp"
#include "engine/tensor/error.hpp"

namespace attn::snippet {
namespace {

std::vector<std::int64_t> sizes_of(const Shape& shape) {
    std::vector<std::int64_t> sizes;
    for (const Dim& dim : shape) sizes.push_back(dim.size);
    return sizes;
}

/// Approximate size of an array's literal.
std::size_t text_size(const NamedArray& array) { return static_cast<std::size_t>(array.count()) * (array.dtype == DType::F32 ? 12 : 3); }

std::vector<std::int64_t> as_integers(const NamedArray& array) {
    if (array.dtype == DType::I64) return values_as<std::int64_t>(array, "snippet");
    std::vector<std::int64_t> values;
    for (const std::byte byte : array.bytes) values.push_back(static_cast<std::int64_t>(byte));
    return values;
}

}  // namespace

const RecordedStage<float>& Script::stage(const StageId& id) const {
    const RecordedStage<float>* found = trace_.find(id);
    if (found == nullptr) throw Error("the trace has no stage " + tensor_name(id));
    return *found;
}

std::string Script::add(NamedArray array) {
    const std::string name = array.name;
    const bool known = std::any_of(operands_.begin(), operands_.end(), [&](const NamedArray& other) { return other.name == name; });
    if (!known) operands_.push_back(std::move(array));
    return name;
}

std::string Script::operand(const StageId& id, const std::string& name) {
    const Tensor<float>& value = stage(id).value;
    const std::string variable = name.empty() ? stage_name(id) : name;
    if (id.stage != Stage::Tokens) return add(make_array<float>(variable, sizes_of(value.shape()), value.values()));
    std::vector<std::int64_t> ids;
    for (const float token : value.values()) ids.push_back(std::lround(token));
    return integers(variable, sizes_of(value.shape()), ids);
}

std::string Script::parameter(const PlanParameter& used, const std::string& name, std::int64_t rows) {
    const ParameterPlace place = trace_.parameters->layout().place(used.name);
    if (place.whole == nullptr) throw Error("the model has no parameter " + used.name);
    const std::int64_t height = rows > 0 ? rows : place.rows();
    std::vector<float> values(static_cast<std::size_t>(height * place.columns));
    copy_numbers(trace_.parameters->view(place).rows_from(0, height), values.data(), place.columns);
    return numbers(name, place.whole->shape.rank() == 2 ? std::vector{height, place.columns} : std::vector{place.columns}, values);
}

std::string Script::numbers(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& values) {
    return add(make_array<float>(name, shape, values));
}

std::string Script::integers(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values) {
    return add(make_array<std::int64_t>(name, shape, values));
}

std::string Script::booleans(const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<std::uint8_t>& values) {
    NamedArray array = make_array<std::uint8_t>(name, shape, values);
    array.dtype = DType::Bool;
    return add(std::move(array));
}

std::string Script::literal(const NamedArray& array) const {
    const std::string head = array.name + (torch() ? " = torch.tensor(" : " = np.array(");
    const bool floats = array.dtype == DType::F32;
    const std::string kind = std::string(torch()                      ? "torch."
                                         : array.dtype == DType::Bool ? ""
                                                                      : "np.") +
                             (floats                       ? "float32"
                              : array.dtype == DType::Bool ? "bool"
                                                           : "int64");
    const std::string list = floats ? nested_list(values_as<float>(array, "snippet"), array.shape, head.size(), torch() ? "math." : "np.")
                                    : nested_list(as_integers(array), array.shape, head.size());
    return head + list + ", dtype=" + kind + ")\n";
}

std::string Script::loaded(const NamedArray& array) const {
    return array.name + (torch() ? " = torch.from_numpy(stored[\"" : " = stored[\"") + array.name + (torch() ? "\"])\n" : "\"]\n");
}

std::string Script::imports(bool from_file) const {
    if (!torch()) return std::string(erf_ ? "import math\n\n" : "") + "import numpy as np\n";
    std::string text = "import math\n\n";
    if (from_file) text += "import numpy as np\n";
    text += "import torch\n";
    return text + (functional_ ? "import torch.nn.functional as F\n" : "");
}

std::string Script::check() const {
    const std::string name = result_name(), library = torch() ? "torch" : "np";
    const auto values = result().value.values();
    std::string text = fmt::format("assert {}.shape == expected.shape\n", name);
    if (std::any_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
        text += fmt::format("finite = {}.isfinite(expected)\n", library);
        text += torch() ? fmt::format("print(\"largest difference:\", ({0}[finite] - expected[finite]).abs().max().item())\n", name)
                        : fmt::format("print(\"largest difference:\", np.abs({0}[finite] - expected[finite]).max())\n", name);
    }
    // Integers must be equal; PyTorch's allclose would also require equal types.
    if (id_.stage == Stage::Tokens) return text + fmt::format("assert ({} == expected).all()\n", name);
    return text + fmt::format("assert {}.allclose({}, expected, rtol=1e-4, atol=2e-5, equal_nan=True)\n", library, name);
}

Snippet Script::finish(const SnippetOptions& options, const std::string& heading) {
    const std::vector<NamedArray> inputs = operands_;
    operand(id_, "expected");
    std::size_t size = 0;
    for (const NamedArray& array : operands_) size += text_size(array);
    Snippet snippet;
    snippet.needs_file = options.operands_in_file || size > kMostSnippetLiterals;
    std::string data;
    if (snippet.needs_file) {
        if (!options.operands_in_file)
            data += fmt::format("# Its operands would take about {} kB as text, so they are in a file.\n", size / 1000);
        data += fmt::format("stored = np.load({})\n", python_string(options.operands_file));
    }
    const auto written = [&](const NamedArray& array) { return snippet.needs_file ? loaded(array) : literal(array); };
    for (const NamedArray& array : inputs) data += written(array);
    snippet.text = heading + imports(snippet.needs_file) + "\n" + data + (data.empty() ? "" : "\n") + code_ +
                   "\n# What attnscope computed.\n" + written(operands_.back()) + check();
    if (snippet.needs_file) snippet.arrays = std::move(operands_);
    return snippet;
}

void write_dropout(Script& script, const std::string& name, const std::string& value, double rate, const StageId& site) {
    if (rate == 0) return script.line(name + " = " + value);
    if (rate == 1) {
        script.remark("A dropout rate of 1 leaves nothing.");
        return script.line(fmt::format("{} = np.zeros_like({})", name, value), fmt::format("{} = torch.zeros_like({})", name, value));
    }
    const DropoutPattern pattern(rate, script.trace().settings.dropout.seed, site);
    std::vector<std::uint8_t> keeps;
    const Shape& shape = script.result().value.shape();
    for (std::int64_t i = 0; i < shape.count(); ++i) keeps.push_back(pattern.keeps(i) ? 1 : 0);
    script.booleans("keep_dropout", sizes_of(shape), keeps);
    script.line(fmt::format("p = {}  # dropout: what is kept makes up for what is not", rate));
    script.line(fmt::format("{} = np.where(keep_dropout, ({}) / (1 - p), 0)", name, value),
                fmt::format("{} = torch.where(keep_dropout, ({}) / (1 - p), 0.0)", name, value));
}

}  // namespace attn::snippet
