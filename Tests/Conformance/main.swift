// Prints which implementation keeps which promise of the contract, as Markdown.
//
// Usage: swift run conformance
print(Matrix.make().markdown, terminator: "")
