import Testing

@testable import Campanile

@Suite("Which values are instances of classes", .ownThread)
struct ClassInstanceTests {
  private class Base {}
  private final class Derived<Value>: Base {}
  private final class Mistake: Error {}
  private actor Agent {}
  private enum Wrong: Error { case really }
  private struct Box { let content = Base() }
  private protocol Named {}
  private final class Name: Named {}

  @Test("An instance is itself, whatever type it is known by")
  func instances() {
    let (base, derived, mistake, agent, name) = (Base(), Derived<Int>(), Mistake(), Agent(), Name())
    #expect(classInstance(base) === base)
    #expect(classInstance(derived) === derived)
    #expect(classInstance(derived as Base) === derived)
    #expect(classInstance(base as AnyObject) === base)
    #expect(classInstance(name as any Named) === name)
    #expect(classInstance(mistake as any Error) === mistake)
    #expect(classInstance(agent) === agent)
    // In generic code, the value is known as an existential.
    func known<Value>(as type: Value.Type, _ value: Value) -> Any { value }
    #expect(classInstance(known(as: AnyObject.self, base)) === base)
    #expect(classInstance(known(as: (any Named).self, name)) === name)
    #expect(classInstance(known(as: Any.self, 7)) == nil)
  }

  @Test("Everything else is none: values, boxes of instances, types and closures")
  func others() {
    let base = Base()
    let others: [Any] = [
      7, "text", 1.5, [base], ["key": base], (base, base), Box(), Wrong.really,
      Wrong.really as any Error, Base.self, { base } as () -> Base, Base?.some(base) as Any,
      Base?.none as Any,
    ]
    for other in others { #expect(classInstance(other) == nil, "\(other)") }
  }

  @Test("The question neither keeps nor releases the instance")
  func counts() {
    let count = LiveCount()
    do {
      var tracked = Tracked(count)
      for _ in 0..<1_000 { #expect(classInstance(tracked) === tracked) }
      #expect(isKnownUniquelyReferenced(&tracked))
      #expect(count.current == 1)
    }
    #expect(count.current == 0)
  }
}
