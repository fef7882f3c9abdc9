import CampanileKVO
import Foundation
import Observation
import Testing

/// Classes that are coded, and observed.
@Suite("Codable classes", .ownThread)
struct CodableTests {
  final class Settings: Observable, Codable {
    @Observed var name = ""
    @Observed var level: Int?
  }

  @Observable final class Track: Codable {
    @ObservationIgnored private let _$observationRegistrar = KVORegistrar()
    var title: String
    init(_ title: String) { self.title = title }

    private enum CodingKeys: String, CodingKey { case _title = "title" }
  }

  @Test("Wrapped properties are coded like plain ones, and observed", arguments: [nil, 3])
  func wrapped(level: Int?) throws {
    let settings = Settings()
    (settings.name, settings.level) = ("a", level)
    let data = try JSONEncoder().encode(settings)
    let plain = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(plain["name"] as? String == "a" && plain["level"] as? Int == level)
    let copy = try JSONDecoder().decode(Settings.self, from: data)
    #expect(copy.name == "a" && copy.level == level)
    var names: [String] = []
    let token = copy.observe(\.name) { _, change in names.append(change.new) }
    copy.name = "b"
    #expect(names == ["b"])
    withExtendedLifetime(token) {}
  }

  @Test("A class with the registrar is coded by its coding keys")
  func registrar() throws {
    let data = try JSONEncoder().encode(Track("Aria"))
    #expect(String(data: data, encoding: .utf8) == #"{"title":"Aria"}"#)
    let copy = try JSONDecoder().decode(Track.self, from: data)
    var titles: [String] = []
    let token = copy.observe(\.title) { _, change in titles.append(change.new) }
    copy.title = "Bourree"
    #expect(titles == ["Bourree"])
    withExtendedLifetime(token) {}
  }
}
