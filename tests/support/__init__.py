"""What tests share: stand-ins for servers, generators of events, samples and oracles."""
