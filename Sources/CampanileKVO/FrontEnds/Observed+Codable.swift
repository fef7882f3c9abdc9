// A class with wrapped properties is coded as if they were plain.

extension Observed: Encodable where Value: Encodable {
  /// Encodes the value.
  public func encode(to encoder: any Encoder) throws { try current.encode(to: encoder) }
}

extension Observed: Decodable where Value: Decodable {
  /// Decodes the value.
  public init(from decoder: any Decoder) throws {
    self.init(wrappedValue: try Value(from: decoder))
  }
}

extension KeyedEncodingContainer {
  /// Encodes an optional ``Observed`` property, unless it is `nil`.
  public mutating func encode<Wrapped: Encodable>(
    _ property: Observed<Wrapped?>, forKey key: Key
  ) throws {
    try encodeIfPresent(property.current, forKey: key)
  }
}

extension KeyedDecodingContainer {
  /// Decodes an optional ``Observed`` property, which is `nil` if there is no value.
  public func decode<Wrapped: Decodable>(
    _ type: Observed<Wrapped?>.Type, forKey key: Key
  ) throws -> Observed<Wrapped?> {
    Observed(wrappedValue: try decodeIfPresent(Wrapped.self, forKey: key))
  }
}
