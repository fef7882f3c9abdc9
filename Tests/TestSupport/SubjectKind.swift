package import Testing

/// How the subjects are counted that a test makes.
package enum SubjectKind: Codable, Sendable {
  /// By Swift, which can reserve the memory of one that has died.
  case native
  /// As if by another runtime, so that their memory is never reserved.
  case foreign

  /// The kind of the subjects that are made here.
  @TaskLocal package static var current = native

  /// Those that this build knows.
  package static var all: [Self] {
    #if DEBUG
      [.native, .foreign]
    #else
      [.native]
    #endif
  }
}

/// Runs each test of a suite once with each kind of subject.
package struct EachKindOfSubject: SuiteTrait, TestTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?,
    performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    for kind in SubjectKind.all {
      try await SubjectKind.$current.withValue(kind) { try await function() }
    }
  }
}

extension Trait where Self == EachKindOfSubject {
  /// Runs each test once with each kind of subject.
  package static var eachKindOfSubject: Self { Self() }
}
