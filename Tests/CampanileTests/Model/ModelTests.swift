import Testing

/// Random sequences, played by a source and by the model: they must do the same.
@Suite("Model", .eachKindOfSubject, .ownThread)
struct ModelTests {
  enum Kind: String, CaseIterable, CustomTestStringConvertible {
    case center, broadcaster, currentValue

    var testDescription: String { rawValue }

    var face: Machine.Face {
      switch self {
      case .center: .center
      case .broadcaster: .broadcaster
      case .currentValue: .currentValue
      }
    }

    var abilities: Abilities {
      Abilities(hasSubjects: self == .center, hasInitialCalls: self == .currentValue)
    }
  }

  @Test(
    "K1 K2 K3 K5 K6 K7 K8 K9 K11 K14 K15 Sources do what the model does", arguments: Kind.allCases)
  func sequences(kind: Kind) {
    for seed in Seed.some(Effort.times(25, long: 150)) {
      let sequence = Sequence(seed: seed, count: 60, kind.abilities)
      if let difference = difference(kind, sequence) {
        Issue.record("\(kind.rawValue): \(difference)\n\(sequence)")
        return
      }
    }
  }

  /// Where a source first does something else than the model.
  private func difference(_ kind: Kind, _ sequence: Sequence) -> String? {
    let (machine, model) = (Machine(kind.face), Model(isState: kind == .currentValue))
    var seen = 0
    for (index, step) in sequence.steps.enumerated() {
      machine.play(step)
      model.play(step)
      if model.isUnspecified { return nil }
      let (heard, expected) = (machine.heard, model.log)
      if heard != expected {
        return
          "step \(index): expected \(expected[seen...]), and saw \(heard[min(seen, heard.count)...])"
      }
      seen = expected.count
      if machine.liveCount != model.liveCount {
        return "step \(index): \(machine.liveCount) observers are listed, of \(model.liveCount)"
      }
    }
    return nil
  }

  @Test("A seed makes the same sequence again, and the sequences reach what they are for")
  func coverage() {
    for kind in Kind.allCases {
      let one = Sequence(seed: 1, count: 60, kind.abilities)
      #expect(one.description == Sequence(seed: 1, count: 60, kind.abilities).description)
      var (calls, nested) = (0, 0)
      for seed in UInt64(1)...20 {
        let model = Model(isState: kind == .currentValue)
        Sequence(seed: seed, count: 60, kind.abilities).steps.forEach(model.play)
        calls += model.log.count { $0.contains("hears") }
        nested += zip(model.log, model.log.dropFirst()).count {
          $0.contains("hears") && !$1.hasSuffix("ends")
        }
      }
      #expect(calls > 500, "\(kind)")
      #expect(nested > 20, "\(kind)")
    }
  }
}
