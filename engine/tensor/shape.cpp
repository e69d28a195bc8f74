#include "engine/tensor/shape.hpp"

#include "engine/tensor/error.hpp"

namespace attn {

const char* axis_letter(Axis axis) {
    static constexpr const char* kLetters[] = {"B", "H", "G", "T", "S", "C", "D", "V", "F", "L", "N"};
    return kLetters[static_cast<int>(axis)];
}

const char* axis_words(Axis axis) {
    static constexpr const char* kWords[] = {"sequence", "head",       "key/value head", "query position", "key position", "d_model",
                                             "d_head",   "vocabulary", "d_ff",           "layer",          "index"};
    return kWords[static_cast<int>(axis)];
}

Shape::Shape(std::initializer_list<Dim> dims) {
    for (const Dim& dim : dims) push_back(dim);
}

void Shape::push_back(Dim dim) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 62;
    if (rank_ == kMaxRank) throw ShapeError("a tensor has at most 4 axes; cannot add one to " + text());
    if (dim.size < 0) throw ShapeError("axis " + std::string(axis_letter(dim.axis)) + " has the negative size " + std::to_string(dim.size));
    if (dim.size > 0 && count() > kLimit / dim.size)
        throw ShapeError("a tensor of shape " + text() + " x " + std::to_string(dim.size) + " is too large");
    dims_[static_cast<std::size_t>(rank_++)] = dim;
}

Shape Shape::with_size(int axis, std::int64_t size) const {
    Shape out;
    for (int i = 0; i < rank_; ++i) out.push_back(i == axis ? Dim{(*this)[i].axis, size} : (*this)[i]);
    return out;
}

std::int64_t Shape::size_of(Axis axis) const {
    for (const Dim& dim : *this)
        if (dim.axis == axis) return dim.size;
    return 1;
}

bool Shape::has(Axis axis) const {
    for (const Dim& dim : *this)
        if (dim.axis == axis) return true;
    return false;
}

std::int64_t Shape::count() const {
    std::int64_t product = 1;
    for (const Dim& dim : *this) product *= dim.size;
    return product;
}

std::string Shape::text() const {
    std::string out = "[";
    for (int i = 0; i < rank_; ++i) {
        if (i > 0) out += ", ";
        out += std::string(axis_letter((*this)[i].axis)) + "=" + std::to_string((*this)[i].size);
    }
    return out + "]";
}

}  // namespace attn
